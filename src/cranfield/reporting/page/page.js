"use strict";
(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const $ = (selector, within = document) => within.querySelector(selector);
  const $$ = (selector, within = document) => [...within.querySelectorAll(selector)];

  // An element; text is text, whatever it holds.
  function make(name, attributes = {}, ...content) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) {
      if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
      else if (value !== null && value !== false) made.setAttribute(key, value === true ? "" : value);
    }
    made.append(...content.filter((piece) => piece !== null));
    return made;
  }

  // Tables that sort

  function valueOf(cell) {
    const given = $("[data-value]", cell);
    const text = given ? given.dataset.value : cell.textContent;
    const figure = Number.parseFloat(text.replace(/,/g, "").replace("−", "-").replace(/^\./, "0.").replace(/^[<>] /, ""));
    return Number.isNaN(figure) ? null : figure;
  }

  function sortBy(table, column, header) {
    const rows = [...table.tBodies[0].rows];
    const isText = !header.classList.contains("figure");
    const isDown = header.getAttribute("aria-sort") ? header.getAttribute("aria-sort") === "ascending" : !isText;
    const keys = new Map(rows.map((row) => [row, isText ? row.cells[column].textContent : valueOf(row.cells[column])]));
    const order = (a, b) => (isText ? a.localeCompare(b, undefined, {numeric: true}) : a - b);
    rows.sort((one, other) => {
      const [a, b] = [keys.get(one), keys.get(other)];
      if (a === null || b === null) return (a === null) - (b === null);  // what is missing stays at the end
      return isDown ? -order(a, b) : order(a, b);
    });
    for (const other of header.parentElement.cells) other.removeAttribute("aria-sort");
    header.setAttribute("aria-sort", isDown ? "descending" : "ascending");
    table.tBodies[0].append(...rows);
  }

  for (const header of $$("th[data-sort]")) {
    const table = header.closest("table");
    const button = make("button", {type: "button", onclick: () => sortBy(table, header.cellIndex, header)});
    button.append(...header.childNodes);
    header.append(button);
  }

  // Pictures, one after the other: those in sight first

  const systems = data.palette.map(([name]) => name);
  const styles = new Map(data.palette.map(([name, colour, dash, shape]) => [name, {colour, dash, shape}]));
  const shown = new Set(systems);
  const views = new Map();
  const failed = [];
  const ERRORS = 1;  // what Vega says: errors only, as a filtered picture has scales without a system
  let queue = [];
  let isDrawing = false;

  // A specification with the chosen systems only: rows name their system in `s`, scales in their domain.
  function filtered(spec) {
    if (shown.size === systems.length) return structuredClone(spec);
    const text = JSON.stringify(spec);
    const isFew = shown.size <= MANY && text.includes('"detail":{"field":"s"');
    const legend = text.includes('"strokeDash":{"field":"s"') ? {symbolType: "stroke"} : {};
    const isNames = (list) => Array.isArray(list) && list.length > 0 && list.every((one) => styles.has(one));
    const visit = (node) => {
      if (Array.isArray(node)) return node.map(visit);
      if (node === null || typeof node !== "object") return node;
      const made = {};
      for (const [key, value] of Object.entries(node)) {
        if (key === "values" && Array.isArray(value)) {
          made.values = value.filter((row) => row === null || typeof row !== "object" || !("s" in row) || shown.has(row.s));
        } else if (isFew && key === "legend" && value === null && node.field === "s") made.legend = legend;
        else if (isNames(value)) made[key] = value.filter((one) => shown.has(one));
        else made[key] = visit(value);
      }
      if (isNames(node.domain) && Array.isArray(node.range) && node.range.length === node.domain.length) {
        made.range = node.range.filter((_, i) => shown.has(node.domain[i]));
        if (isFew) Object.assign(made, scaleOf(node.range[0]));
      }
      return isFew ? coloured(made) : made;
    };
    return visit(spec);
  }

  // Of very many systems most are grey; once they are few, each has its colour again.
  const MANY = 20;

  // All chosen systems with their colours, dashes or markers, whichever one end of a scale's range is an example of.
  function scaleOf(example) {
    const what = Array.isArray(example) ? "dash" : String(example).startsWith("#") ? "colour" : "shape";
    const chosen = systems.filter((name) => shown.has(name));
    return {domain: chosen, range: chosen.map((name) => styles.get(name)[what])};
  }

  function coloured(layer) {
    const encoding = layer.encoding;
    if (!encoding || !encoding.detail || encoding.detail.field !== "s") return layer;
    const isLine = layer.mark.type === "line";
    const channel = (example) => ({field: "s", type: "nominal", title: null, scale: scaleOf(example)});
    const told = isLine ? {strokeDash: channel([])} : {shape: channel("")};
    layer.encoding = {...encoding, color: {...channel("#"), legend: isLine ? {symbolType: "stroke"} : {}}, ...told};
    layer.mark = {...layer.mark, opacity: 1, ...(isLine ? {strokeWidth: 2, strokeOpacity: 1} : {size: 110})};
    delete layer.mark.color;
    return layer;
  }

  function hasRows(spec) {
    let found = false;
    JSON.stringify(spec, (key, value) => {
      if (key === "values" && Array.isArray(value) && value.some((row) => row && row.s !== undefined)) found = true;
      return value;
    });
    return found;
  }

  async function draw(kind) {
    const place = $(`#plot-${CSS.escape(kind)}`);
    const figure = place.closest("figure");
    const spec = "systems" in figure.dataset ? filtered(data.pictures[kind]) : structuredClone(data.pictures[kind]);
    const theme = matchMedia("(prefers-color-scheme: dark)").matches ? "dark" : "light";
    if (views.has(kind)) views.get(kind).finalize();
    views.delete(kind);
    if ("systems" in figure.dataset && !hasRows(spec)) {
      place.replaceChildren(make("p", {class: "quiet"}, "None of the systems in this picture is chosen."));
      return;
    }
    try {
      // expressions are interpreted, so that the page needs no right to make code
      const made = await vegaEmbed(place, spec, {
        mode: "vega-lite", renderer: "svg", ast: true, actions: false, config: data.config, tooltip: {theme}, logLevel: ERRORS,
      });
      views.set(kind, made.view);
      $("svg", place).setAttribute("aria-hidden", "true");
      offerSaving(kind);
    } catch (error) {
      failed.push(kind);
      console.error(`${kind} was not drawn: ${error.message}`);
    }
  }

  function offerSaving(kind) {
    const place = $(`[data-save="${CSS.escape(kind)}"]`);
    if (place.childNodes.length) return;
    for (const [format, word] of [["svg", "Save as SVG"], ["png", "Save as PNG"]]) {
      place.append(make("button", {type: "button", onclick: () => save(kind, format)}, word));
    }
  }

  async function save(kind, format) {
    const address = await views.get(kind).toImageURL(format, format === "png" ? 3 : 1);
    make("a", {href: address, download: `${kind}.${format}`}).click();
  }

  function next() {
    if (isDrawing || !queue.length) return;
    isDrawing = true;
    const height = window.innerHeight;
    const inSight = queue.findIndex((kind) => {
      const box = $(`#plot-${CSS.escape(kind)}`).getBoundingClientRect();
      return box.bottom > -height && box.top < 2 * height;
    });
    const [kind] = queue.splice(Math.max(inSight, 0), 1);
    draw(kind).then(() => {
      isDrawing = false;
      if (queue.length) setTimeout(next, 0);
      else document.documentElement.dataset.drawn = failed.length ? `failed: ${failed.join(" ")}` : "all";
    });
  }

  function drawAll() {
    delete document.documentElement.dataset.drawn;
    queue = $$("[data-kind]").map((place) => place.dataset.kind);
    next();
  }

  // Which systems are shown

  const chooser = $("#systems");
  const boxes = chooser ? $$(".boxes input", chooser) : [];

  function choose() {
    shown.clear();
    for (const box of boxes) if (box.checked) shown.add(box.value);
    $("#picked").textContent = shown.size === systems.length ? `all ${shown.size}` : `${shown.size} of ${systems.length}`;
    for (const row of $$("#leaderboard-table tbody tr")) row.hidden = shown.size > 0 && !shown.has(row.dataset.system);
    queue = $$("figure[data-systems] [data-kind]").map((place) => place.dataset.kind);
    delete document.documentElement.dataset.drawn;
    next();
  }

  if (chooser) {
    chooser.hidden = false;
    let waiting = 0;
    const soon = () => {
      clearTimeout(waiting);
      waiting = setTimeout(choose, 150);
    };
    for (const box of boxes) box.addEventListener("change", soon);
    for (const button of $$("[data-pick]", chooser)) {
      button.addEventListener("click", () => {
        const which = button.dataset.pick;
        boxes.forEach((box, i) => { box.checked = which === "all" || (which !== "none" && i < Number(which)); });
        soon();
      });
    }
    const find = $("#find-system");
    if (find) {
      find.addEventListener("input", () => {
        const part = find.value.toLowerCase();
        for (const box of boxes) box.parentElement.hidden = !box.value.toLowerCase().includes(part);
      });
    }
  }

  // Any topic of any two systems

  const topics = data.explorer;
  const fixed = (value, places = 4) => (value === null ? "–" : value.toFixed(places).replace("-", "−"));
  const signed = (value) => (value > 0 ? "+" : "") + fixed(value, 3);

  const SHADES = ["--ground-light", "--ink-light", "--ground-dark", "--ink-dark"];

  function mark(grade) {
    if (grade === null) return make("span", {class: "grade unjudged", title: "unjudged"}, "?");
    const text = String(grade);
    const made = make("span", {class: "grade"}, text.replace("-", "−"));
    SHADES.forEach((name, i) => made.style.setProperty(name, (topics.shades[text] || [])[i] || ""));
    return made;
  }

  function ranking(topic, system, other) {
    const name = topics.systems[system];
    const head = make("h5", {}, name, " ", make("small", {}, `${topics.measure} ${fixed(topic.values[system])}`));
    const list = topic.lists[system];
    if (!list.length) return make("div", {class: "ranking"}, head, make("p", {}, "It retrieved nothing for this topic."));
    const elsewhere = new Map(other === null ? [] : topic.lists[other].map((doc, i) => [doc, i + 1]));
    const relevant = list.filter((doc) => topic.grades[doc] !== null && topic.grades[doc] >= topics.rel).length;
    const found = `${relevant} of ${topic.relevant} relevant document${topic.relevant === 1 ? "" : "s"} in the top ${topics.depth}`;
    const entries = list.map((doc) => {
      const id = topic.docs[doc];
      const text = Object.hasOwn(topics.texts, id) ? topics.texts[id] : null;
      const rank = elsewhere.get(doc);
      const where = other === null ? null
        : make("small", {}, `${topics.systems[other]}: ${rank || `not in its top ${topics.depth}`}`);
      const words = text ? make("span", {class: "text"}, text[0] ? make("b", {}, text[0]) : null, ` ${text[1]}`) : null;
      return make("li", {class: rank || other === null ? null : "only"}, mark(topic.grades[doc]), make("span", {class: "doc"}, id), where, words);
    });
    return make("div", {class: "ranking"}, head, make("p", {class: "quiet"}, found), make("ol", {}, ...entries));
  }

  const ORDERS = {
    "largest gain first": (gain) => -gain,
    "largest loss first": (gain) => gain,
    "hardest first": (_, topic) => topics.sign * mean(topic.values),
    "easiest first": (_, topic) => -topics.sign * mean(topic.values),
    "as judged": null,
  };

  function mean(values) {
    const known = values.filter((value) => value !== null);
    return known.length ? known.reduce((sum, value) => sum + value, 0) / known.length : Infinity;
  }

  function explorer(place) {
    const several = topics.systems.length > 1;
    const names = () => topics.systems.map((name, i) => make("option", {value: i}, name));
    const select = {
      topic: make("select", {}), system: make("select", {}, ...names()), against: make("select", {}, ...names()),
      order: make("select", {}, ...Object.keys(ORDERS).slice(several ? 0 : 2).map((order) => make("option", {}, order))),
    };
    select.system.value = several ? topics.system : 0;
    select.against.value = topics.against;
    const result = make("div", {"aria-live": "polite"});
    const gain = (topic) => {
      const [ours, theirs] = [topic.values[select.system.value], topic.values[select.against.value]];
      return ours === null || theirs === null ? null : ours - theirs;
    };

    function list() {
      const chosen = select.topic.value;
      const key = ORDERS[select.order.value];
      const all = topics.topics.map((topic, i) => ({topic, i, key: key ? key((topics.sign * (gain(topic) ?? 0)), topic) : 0}));
      const natural = (a, b) => a.topic.id.localeCompare(b.topic.id, undefined, {numeric: true});
      all.sort((a, b) => a.key - b.key || natural(a, b));
      select.topic.replaceChildren(...all.map(({topic, i}) => {
        const difference = several && gain(topic) !== null ? ` (${signed(gain(topic))})` : "";
        return make("option", {value: i}, `${topic.id}${topic.title ? ` ${topic.title}` : ""}${difference}`);
      }));
      if (chosen !== "") select.topic.value = chosen;
    }

    function show() {
      const topic = topics.topics[select.topic.value];
      if (!topic) return;
      const [a, b] = [Number(select.system.value), Number(select.against.value)];
      const alone = !several || a === b;
      const lists = alone ? [ranking(topic, a, null)] : [ranking(topic, a, b), ranking(topic, b, a)];
      const difference = alone || gain(topic) === null ? null
        : make("p", {}, `${topics.measure}: ${topics.systems[a]} ${fixed(topic.values[a])}, ${topics.systems[b]} ${fixed(topic.values[b])}, difference ${signed(gain(topic))}.`);
      result.replaceChildren(
        make("h4", {}, `Topic ${topic.id}`, topic.title ? make("span", {class: "topic-title"}, ` ${topic.title}`) : null),
        ...(topic.about ? [make("p", {class: "about"}, topic.about)] : []), ...(difference ? [difference] : []),
        make("div", {class: "pair"}, ...lists),
      );
    }

    function step(by) {
      const at = select.topic.selectedIndex + by;
      if (at >= 0 && at < select.topic.options.length) {
        select.topic.selectedIndex = at;
        chosen();
      }
    }

    // what is shown is in the address, so that it can be mailed and Back works
    function chosen() {
      const topic = topics.topics[select.topic.value];
      const parts = {topic: topic.id};
      if (several) Object.assign(parts, {system: topics.systems[select.system.value], against: topics.systems[select.against.value]});
      history.pushState(null, "", `#${Object.entries(parts).map(([key, value]) => `${key}=${encodeURIComponent(value)}`).join("&")}`);
      show();
    }

    function follow() {
      if (!location.hash.startsWith("#topic=")) return;
      const asked = Object.fromEntries(location.hash.slice(1).split("&").map((part) => part.split("=").map(decodeURIComponent)));
      for (const side of ["system", "against"]) {
        const at = topics.systems.indexOf(asked[side]);
        if (at >= 0) select[side].value = at;
      }
      const at = topics.topics.findIndex((topic) => topic.id === asked.topic);
      list();
      if (at >= 0) select.topic.value = at;
      show();
      place.scrollIntoView();
    }

    const labelled = (text, element) => make("label", {}, text, element);
    const controls = make("div", {class: "controls"}, labelled("Topic", select.topic));
    if (several) controls.append(labelled("System", select.system), labelled("Against", select.against));
    controls.append(labelled("Order of topics", select.order));
    const buttons = make("div", {class: "row"},
      make("button", {type: "button", onclick: () => step(-1)}, "Previous topic"), make("kbd", {}, "p"),
      make("button", {type: "button", onclick: () => step(1)}, "Next topic"), make("kbd", {}, "n"));
    place.replaceChildren(controls, buttons, result);
    select.topic.addEventListener("change", chosen);
    for (const side of [select.system, select.against]) side.addEventListener("change", () => { list(); chosen(); });
    select.order.addEventListener("change", () => { list(); select.topic.selectedIndex = 0; chosen(); });
    addEventListener("hashchange", follow);
    addEventListener("popstate", follow);
    addEventListener("keydown", (event) => {
      const busy = event.ctrlKey || event.metaKey || event.altKey || /^(input|select|textarea)$/i.test(event.target.tagName);
      const by = {n: 1, p: -1}[event.key];
      if (!busy && by) step(by);
    });
    list();
    show();
    follow();
  }

  if (topics.topics.length) explorer($("#explorer"));

  // On paper nothing can be unfolded: rankings of topics won and lost are printed, and folded again

  let unfolded = [];
  addEventListener("beforeprint", () => {
    unfolded = $$("#topics details:not([open])");
    for (const one of unfolded) one.open = true;
  });
  addEventListener("afterprint", () => {
    for (const one of unfolded) one.open = false;
  });

  drawAll();
})();
