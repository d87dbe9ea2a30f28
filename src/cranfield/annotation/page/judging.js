"use strict";
/* The judging screen: shows one document, and says what its judge does to a store.

   startJudging(root, store, {grades, actions, guidelines, version}) draws into an element. A store answers with promises:
     topics()                -> [{query, title, description, narrative, words, places, left, skipped}]
     next(query or null)     -> item or null: the next document of a topic, or of any
     seen(query)             -> [place, …]: what was dealt with before, in the order of time
     at(query, place)        -> item
     after(query)            -> the next topic with documents left, or null
     save({kind, query, place, doc, grade, note, key, shown_at, judged_at, active_ms, method}) -> {next: item or null, left},
       and waiting: true where it is kept in this browser and not sent yet; doc is what was on the screen
     undo({key, …})          -> {item: item or null}, and waiting: true likewise
   `more` is what else is offered above, [{label, act}], and where there is a name it is the button's data-more. `extra` are functions for actions of other names; each is handed
   {item, grades, show, say, dialog, alone, trace}. `frame(item)` is the address of a document as a page, if it is one.
   An item is {query, doc, place, places, left, kind, grade, note, document: {title, text, fields: [[name, value]]} or null},
   and may have the words in it that are to be marked, words.
   It never holds rank, score, run or what others think. All of it is shown as text, never as HTML. */

const startJudging = (() => {
  const AWAY = 120000;  // ms without a sign of life, of which no more count as looking at the document
  const STARTLED = 400;  // ms in which nothing is judged after a document came by itself
  const STRIP = 20000;  // characters of a text that are drawn and marked at a time
  const NEAR = 2000;  // pixels from what is in sight, within which everything is marked
  // Letters of scripts that put no space between words: Han, Katakana, Hiragana, Thai, Lao, Burmese, Khmer
  const UNSPACED = "\\u2e80-\\u2fdf\\u3005-\\u3007\\u3021-\\u3029\\u3038-\\u303b\\u3041-\\u309f\\u30a1-\\u30ff\\u31f0-\\u31ff\\u3400-\\u4dbf\\u4e00-\\u9fff"
    + "\\uf900-\\ufaff\\uff66-\\uff9f\\u{20000}-\\u{3ffff}\\u0e01-\\u0e3e\\u0e40-\\u0e4e\\u0e80-\\u0eff\\u1000-\\u109f\\u1780-\\u17d3";
  const IS_UNSPACED = new RegExp(`^[${UNSPACED}]+$`, "u");
  const WORD = `(?:(?![${UNSPACED}])[\\p{L}\\p{N}_])+`;

  // An element; text is text, whatever it holds.
  function make(name, attributes = {}, ...content) {
    const made = document.createElement(name);
    for (const [key, value] of Object.entries(attributes)) {
      if (key.startsWith("on")) made.addEventListener(key.slice(2), value);
      else if (value !== null && value !== false) made.setAttribute(key, value === true ? "" : value);
    }
    // one by one: no call takes arguments by the hundred thousand
    for (const piece of content.flat()) if (piece !== null) made.append(piece);
    return made;
  }

  const newKey = () => [...crypto.getRandomValues(new Uint8Array(16))].map((n) => n.toString(16).padStart(2, "0")).join("");
  const number = (n) => n.toLocaleString("en");

  // A text in which things are found without regard to case; every character keeps its place.
  function folded(text) {
    return text.replaceAll("\u0130", "i").toLowerCase();  // İ is the only one that would become two
  }

  // What finds a phrase in a text, both folded: white space in it stands for any, as lines end where they like. At its
  // ends it stands for one character: a run of white space is gone through once, however long it is.
  function pattern(phrase) {
    const words = phrase.split(/\s+/).map((word) => word.replace(/[\\^$.*+?()[\]{}|]/g, "\\$&"));
    if (words.every((word) => !word)) return phrase ? /\s+/g : null;
    const [first, last] = [words[0] ? "" : "\\s", words.at(-1) ? "" : "\\s"];
    return new RegExp(first + words.filter(Boolean).join("\\s+") + last, "g");
  }

  // Where it stands in a text: where each begins, and where each ends.
  function places(text, sought) {
    const found = {hits: [], ends: []};
    if (!sought) return found;
    sought.lastIndex = 0;
    for (let match = sought.exec(text); match; match = sought.exec(text)) {
      found.hits.push(match.index);
      found.ends.push(sought.lastIndex);
    }
    return found;
  }

  // The words of a topic as they are marked: as whole words, and as parts where there are no spaces.
  function markable(words) {
    const parts = words.filter((word) => IS_UNSPACED.test(word)).sort((one, other) => other.length - one.length);
    return {whole: new Set(words), finder: words.length ? new RegExp([...parts, WORD].join("|"), "gu") : null};
  }

  // The first of some ascending numbers that is above another.
  function firstAbove(numbers, limit) {
    let [low, high] = [0, numbers.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (numbers[middle] > limit) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  // A long text in pieces, [[from, to]]: cut at ends of lines, or else between words.
  function cut(text) {
    const found = [];
    let from = 0;
    while (text.length - from > STRIP) {
      const half = from + STRIP / 2;
      const end = text.slice(half, from + STRIP);
      const last = end.includes("\n") ? end.lastIndexOf("\n") : end.lastIndexOf(" ");
      let to = last < 0 ? from + STRIP : half + last + 1;
      if (/[\udc00-\udfff]/.test(text[to])) to -= 1;  // no character is cut in two
      found.push([from, to]);
      from = to;
    }
    return [...found, [from, text.length]];
  }

  // What is sought and the words of the topic in a piece of a text, [[from, to, kind]]; where they meet, what is sought.
  function marksIn({source: {text, hits, ends}, from, to}, {whole, finder}, here) {
    const marks = [];
    for (let i = firstAbove(ends, from); i < hits.length && hits[i] < to; i += 1) {
      marks.push([Math.max(hits[i], from), Math.min(ends[i], to), hits[i] === here ? "found here" : "found"]);
    }
    const found = marks.length;
    let next = 0;
    for (const match of finder ? text.slice(from, to).matchAll(finder) : []) {
      if (!whole.has(match[0].toLowerCase())) continue;
      const [start, end] = [from + match.index, from + match.index + match[0].length];
      while (next < found && marks[next][1] <= start) next += 1;
      if (next === found || marks[next][0] >= end) marks.push([start, end, "word"]);
    }
    return marks.sort((one, other) => one[0] - other[0]);
  }

  function start(root, store, {grades, actions, guidelines, more = [], extra = {}, frame = null}) {
    let item = null;
    let topics = [];
    let topic = null;
    let isMarked = true;
    let isFramed = false;
    let sought = null;  // what finds the words in the field
    let hit = 0;  // which of all that was found
    let here = null;  // where that is: {source, at, to}
    let shownAt = "";
    let active = 0;
    let touched = 0;
    let busy = false;
    let pointer = "click";
    let trail = [];  // the places of this topic in the order in which they were seen
    let step = 0;  // where in the trail this document is
    let deaf = 0;  // until when nothing is judged
    let drawn = {content: [], sources: [], strips: new Map(), words: markable([])};  // what is on the screen, see sheetOf
    let watcher = null;  // sees which strips come near

    const el = {
      progress: make("p", {class: "progress quiet", id: "progress"}),
      said: make("p", {class: "said quiet", role: "status", "aria-live": "polite"}),
      topic: make("aside", {class: "topic", "aria-label": "Topic"}),
      about: make("div", {class: "about", tabindex: "0"}),
      document: make("main", {class: "document marked", id: "document", tabindex: "-1", "aria-label": "Document"}),
      grades: make("div", {class: "grades", role: "group", "aria-label": "Grades"}),
      acts: make("div", {class: "acts", role: "group", "aria-label": "Other acts"}),
      dialog: make("dialog", {"aria-labelledby": "dialog-title"}),
    };
    const find = make("input", {type: "search", "aria-label": "Find in the document", size: "20", autocomplete: "off"});
    const findCount = make("span", {class: "quiet", role: "status"});
    const findBar = make("div", {class: "find", hidden: true, role: "search"}, find,
      make("button", {type: "button", class: "plain", onclick: () => goTo(1)}, "Next"),
      make("button", {type: "button", class: "plain", onclick: () => closeFind()}, "Close"), findCount);

    const sheet = make("div");  // apart from the find bar, which must keep its focus while the text is drawn anew
    el.document.append(findBar, sheet);

    const above = ["search", "guidelines", "help"];  // rarely needed, and in nobody's way there
    const top = above.map((name) => actions.find((one) => one.name === name)).filter(Boolean);
    const nav = make("nav", {"aria-label": "More"},
      make("button", {type: "button", class: "plain", onclick: () => showTopics()}, "Topics"),
      ...top.map((one) => make("button", {type: "button", class: "plain", onclick: () => act(one.name, pointer)}, one.label, " ", make("kbd", {class: "hint"}, one.keys[0]))),
      ...more.map(({name = null, label, act: run}) => make("button", {type: "button", class: "plain", "data-more": name, hidden: !label, onclick: () => run(dialog, say)}, label)));
    // What does not fit beside the document is a tap away, and it is seen that there is more.
    const unfolds = make("button", {type: "button", class: "plain unfolds", "aria-expanded": "false", "aria-label": "More of the topic", hidden: true, onclick: () => unfoldTopic(!el.topic.classList.contains("whole"))}, "More");
    el.topic.append(el.about, unfolds);
    function unfoldTopic(isWhole) {
      el.topic.classList.toggle("whole", isWhole);
      unfolds.setAttribute("aria-expanded", isWhole);
      unfolds.textContent = isWhole ? "Less" : "More";
      unfolds.setAttribute("aria-label", `${unfolds.textContent} of the topic`);
      tellCut();
      placeFind();
    }
    function tellCut() {
      const {scrollHeight, clientHeight, scrollTop} = el.about;
      el.topic.classList.toggle("cut", scrollHeight - clientHeight - scrollTop > 4);
      unfolds.hidden = !el.topic.classList.contains("whole") && scrollHeight - clientHeight <= 4;
    }
    el.about.addEventListener("scroll", tellCut, {passive: true});
    new ResizeObserver(tellCut).observe(el.about);

    root.replaceChildren(
      make("a", {class: "skip-link", href: "#document", onclick: (event) => { event.preventDefault(); el.document.focus(); }}, "To the document"),
      make("div", {class: "judging"},
        make("header", {class: "top"}, el.progress, el.said, nav), el.topic, el.document,
        make("footer", {class: "bottom"}, el.grades, el.acts)),
      el.dialog);

    for (const grade of grades) {
      el.grades.append(make("button", {type: "button", class: "act", "data-grade": grade.value, "aria-keyshortcuts": grade.key, onclick: () => save("judge", pointer, {grade: grade.value})},
        make("b", {}, make("kbd", {}, grade.key), " ", grade.label), grade.definition ? make("small", {}, grade.definition) : null));
    }
    const often = ["back", "undo", "skip", "cannot"];  // what a phone has room for; the others are behind one more tap
    for (const one of actions.filter(({name}) => !above.includes(name))) {
      el.acts.append(make("button", {type: "button", class: "act", "data-act": one.name, "data-rare": !often.includes(one.name), title: one.about, "aria-keyshortcuts": one.keys[0], onclick: () => act(one.name, pointer)},
        make("kbd", {class: "hint"}, one.keys[0]), " ", one.label));
    }

    const rest = make("button", {type: "button", class: "act more", "aria-expanded": "false", onclick: () => unfold(!el.acts.classList.contains("whole"))}, "More");
    el.acts.append(rest);
    function unfold(isWhole) {
      el.acts.classList.toggle("whole", isWhole);
      rest.setAttribute("aria-expanded", isWhole);
    }

    // The same words twice are said twice: a space that nobody sees makes them new to a screen reader.
    function say(text, isWrong = false) {
      el.said.textContent = text && text === el.said.textContent ? `${text}\u00a0` : text;
      el.said.classList.toggle("wrong", isWrong);
    }

    // Dialogs

    function dialog(title, ...content) {
      const close = make("button", {type: "button", class: "act", onclick: () => el.dialog.close()}, "Close");
      // the heading has the focus, so that a long text begins at its beginning
      el.dialog.replaceChildren(make("h2", {id: "dialog-title", tabindex: "-1", autofocus: true}, title), ...content, make("div", {class: "row"}, close));
      if (!el.dialog.open) el.dialog.showModal();
      return el.dialog;
    }

    function showHelp() {
      const rows = [
        ...grades.map((grade) => [grade.key, `${grade.label}${grade.definition ? `: ${grade.definition}` : ""}`]),
        ...actions.map((one) => [one.keys.map((key) => ({ArrowLeft: "←", ArrowRight: "→"}[key] || key)).join(" "), `${one.label}: ${one.about}`]),
      ];
      dialog("Keys", make("p", {}, "A digit gives a grade, saves it and goes on at once."), make("dl", {class: "keys"}, ...rows.flatMap(([key, text]) => [make("dt", {}, key), make("dd", {}, text)])));
    }

    function showNote() {
      if (!item) return;
      const about = item;  // another document may come while this is being written
      const note = make("textarea", {"aria-label": "Note", maxlength: "20000"});
      note.value = item.note || "";
      const keep = () => { el.dialog.close(); save("note", "key", {note: note.value.trim()}, about); };
      note.addEventListener("keydown", (event) => { if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); keep(); } });
      dialog("Note", note).querySelector(".row").prepend(make("button", {type: "button", class: "act", onclick: keep}, "Save ", make("kbd", {class: "hint"}, "Ctrl Enter")));
      note.focus();
    }

    const showTopics = () => alone(async () => {
      topics = await store.topics();
      const rows = topics.map((one) => make("li", {},
        make("button", {type: "button", class: "plain", onclick: () => { el.dialog.close(); open(one.query); }}, make("bdi", {}, one.title || one.query)),
        make("span", {class: "quiet"}, one.left ? `${number(one.left)} of ${number(one.places)} left` : "done")));
      dialog("Topics", make("ul", {}, rows));
    });

    // Find in the document

    function openFind() {
      findBar.hidden = false;
      placeFind();
      find.focus();
      find.select();
    }
    function placeFind() {
      const isAbove = getComputedStyle(el.topic).position === "sticky";  // on a phone the topic stays above the document
      if (isAbove) root.style.setProperty("--above", `${el.topic.offsetHeight}px`);
      else root.style.removeProperty("--above");
    }
    function closeFind() {
      findBar.hidden = true;
      find.value = "";
      seek();
      focusHeading();
    }
    // Look for what is in the field: all of it is counted, what is near is marked.
    function seek() {
      sought = pattern(folded(find.value));
      hit = 0;
      here = null;
      for (const source of drawn.sources) {
        source.folded ??= folded(source.text);
        Object.assign(source, places(source.folded, sought));
      }
      for (const strip of drawn.strips.values()) {
        if (strip.isNear) mark(strip);
        else if (strip.isMarked) strip.at.textContent = strip.source.text.slice(strip.from, strip.to);
        strip.isMarked = strip.isNear;
      }
    }
    // Go on by so many of what was found.
    function goTo(by) {
      const total = drawn.sources.reduce((sum, {hits}) => sum + hits.length, 0);
      findCount.textContent = sought ? "0 of 0" : "";
      if (!total) return;
      hit = (hit + by + total) % total;
      findCount.textContent = `${number(hit + 1)} of ${number(total)}`;
      const before = here;
      let left = hit;
      for (const source of drawn.sources) {
        if (left < source.hits.length) { here = {source, at: source.hits[left], to: source.ends[left]}; break; }
        left -= source.hits.length;
      }
      const holds = (strip, place) => place && strip.source === place.source && strip.from < place.to && strip.to > place.at;
      for (const strip of drawn.strips.values()) if (holds(strip, before) || holds(strip, here)) mark(strip);
      sheet.querySelector("mark.here").scrollIntoView({block: "center"});
    }
    find.addEventListener("input", () => { seek(); goTo(0); });
    find.addEventListener("keydown", (event) => {
      if (event.key === "Enter") { event.preventDefault(); goTo(event.shiftKey ? -1 : 1); }
      else if (event.key === "Escape") { event.preventDefault(); closeFind(); }
    });

    // What is shown

    function drawTopic() {
      const about = topic || {query: "", title: "", description: "", narrative: ""};
      el.about.replaceChildren(make("h2", {dir: "auto"}, about.title || about.query),
        ...[about.description, about.narrative].filter(Boolean).map((text) => make("p", {dir: "auto"}, text)),
        make("p", {class: "quiet"}, `Topic ${about.query}`));
      el.about.scrollTop = 0;
      unfoldTopic(false);
    }

    // A document as it is drawn: its elements, the texts in it, and the strips that these are drawn in. Nothing on the
    // screen changes by this.
    function sheetOf(one, words) {
      const made = {content: [], sources: [], strips: new Map(), words: markable(words)};
      const body = one.document;
      const lay = (into, text) => {
        const source = {text, folded: null, hits: [], ends: []};
        made.sources.push(source);
        cut(text).forEach(([from, to], i, pieces) => {
          const at = pieces.length === 1 ? into : make("span", {class: "strip"});
          const strip = {at, source, from, to, isMarked: false, isNear: i === 0};
          made.strips.set(at, strip);
          if (strip.isNear) mark(strip, made.words);
          else at.append(text.slice(from, to));
          if (at !== into) into.append(at);
        });
        return into;
      };
      const heading = make("h1", {tabindex: "-1", dir: "auto"});
      const text = make("div", {class: "text", dir: "auto"});
      made.content.push(body && body.title ? lay(heading, body.title) : heading, make("p", {class: "quiet id"}, one.doc));
      if (!heading.childNodes.length) heading.append(one.doc);
      if (body && body.fields.length) made.content.push(make("dl", {class: "quiet"}, body.fields.flatMap(([name, value]) => [make("dt", {}, name), lay(make("dd", {dir: "auto"}), value)])));
      if (isFramed && body && body.is_page && frame) made.content.push(make("iframe", {class: "page", sandbox: "", src: frame(one), title: "The document as a page", referrerpolicy: "no-referrer"}));
      else made.content.push(body && body.text ? lay(text, body.text) : text);
      if (!text.childNodes.length) text.append(body ? "This document is empty." : "There is no text of this document.");
      return made;
    }

    // Draw a strip anew, with what is to be marked in it.
    function mark(strip, words = drawn.words) {
      const {text} = strip.source;
      const pieces = document.createDocumentFragment();
      let at = strip.from;
      for (const [from, to, kind] of marksIn(strip, words, here && here.source === strip.source ? here.at : -1)) {
        pieces.append(text.slice(at, from), make("mark", {class: kind}, text.slice(from, to)));
        at = to;
      }
      pieces.append(text.slice(at, strip.to));
      strip.at.replaceChildren(pieces);
      strip.isMarked = true;
    }

    // Mark strips of a long text when they come near: the others are drawn already, and nothing moves.
    function watch() {
      if (watcher) watcher.disconnect();
      const root = getComputedStyle(el.document).overflowY === "visible" ? null : el.document;
      watcher = new IntersectionObserver((seen) => {
        for (const {target, isIntersecting} of seen) {
          const strip = drawn.strips.get(target);
          if (!strip) continue;
          strip.isNear = isIntersecting;
          if (isIntersecting && !strip.isMarked) mark(strip);
        }
      }, {root, rootMargin: `${NEAR}px 0px`});
      for (const at of drawn.strips.keys()) if (at.classList.contains("strip")) watcher.observe(at);
    }

    function drawMine() {
      const state = stateText();
      const before = sheet.querySelector(".mine");
      if (before) before.remove();
      if (state) sheet.insertBefore(make("p", {class: "mine quiet", dir: "auto"}, state), sheet.lastElementChild);
    }

    // What had the focus may go: then the heading has it, so that keys and screen readers never lose their place.
    function write(made) {
      const hadFocus = sheet.contains(document.activeElement) || document.activeElement === document.body;
      sheet.replaceChildren(...made.content);
      drawn = made;
      watch();
      if (hadFocus) focusHeading();
    }
    function focusHeading() {
      const heading = sheet.querySelector("h1");
      if (heading && !el.dialog.open) heading.focus({preventScroll: true});
    }
    el.dialog.addEventListener("close", () => {
      if (document.activeElement === document.body || el.dialog.contains(document.activeElement)) focusHeading();
    });

    function stateText() {
      const grade = grades.find((one) => one.value === item.grade);
      const state = {judge: grade ? `You gave it ${grade.key}, ${grade.label}.` : "", cannot: "You could not judge it.", skip: "You skipped it."}[item.kind] || "";
      return [state + (state && item.waiting ? " It waits in this browser and is not saved yet." : ""), item.note ? `Your note: ${item.note}` : ""].filter(Boolean).join("\n");
    }

    // Buttons and figures: all but the document.
    function drawState() {
      const has = item !== null;
      for (const button of [...el.grades.children, ...el.acts.querySelectorAll("[data-act]")]) {
        button.disabled = !has && !["undo", "topic", "back"].includes(button.dataset.act);
        if (button.dataset.grade !== undefined) button.setAttribute("aria-pressed", has && item.kind === "judge" && item.grade === Number(button.dataset.grade));
      }
      const marking = el.acts.querySelector('[data-act="highlight"]');
      if (marking) marking.setAttribute("aria-pressed", isMarked);
      const paging = el.acts.querySelector('[data-act="page"]');
      if (paging) {
        paging.setAttribute("aria-pressed", isFramed);
        paging.hidden = !(has && item.document && item.document.is_page);
      }
      el.progress.textContent = has ? `Document ${number(item.place)} of ${number(item.places)}, ${number(item.left)} left` : "";
    }

    const topicOf = (one) => (topic && topic.query === one.query ? topic : topics.find(({query}) => query === one.query))
      || {query: one.query, title: one.query, description: "", narrative: "", words: []};

    // What is said where no document is to be judged: never that all is done while others hold some of it.
    function ending() {
      const left = topics.reduce((sum, one) => sum + one.left, 0);
      const heading = (text) => make("h1", {tabindex: "-1"}, text);
      if (!topics.length) return [heading("Nothing to judge"), make("p", {}, "No topic is assigned to you.")];
      if (!left) return [heading("Nothing left here"), make("p", {}, "Everything that is yours to judge is judged. Thank you.")];
      const lookAgain = async () => {
        await open(null);
        if (item === null) say("Nothing has come back yet.");
      };
      return [heading("Nothing to judge for now"),
        make("p", {}, `${number(left)} ${left === 1 ? "document is" : "documents are"} left, which others are looking at right now. What they do not judge comes back to you.`),
        make("p", {}, make("button", {type: "button", class: "act", onclick: lookAgain}, "Look again"))];
    }

    // What is to be on the screen for a document, or for none. It is made before anything changes.
    function sheetFor(found) {
      if (!found) {
        return {content: ending(), sources: [], strips: new Map(), words: markable([])};
      }
      try {
        return sheetOf(found, found.words || topicOf(found).words || []);
      } catch (error) {
        const content = [make("h1", {tabindex: "-1"}, found.doc), make("p", {class: "text"}, `This document cannot be shown here: ${error.message}.`)];
        return {content, sources: [], strips: new Map(), words: markable([])};
      }
    }

    // Show a document that comes next.
    async function show(found) {
      const isOther = found && (!topic || found.query !== topic.query || !trail.length);
      const before = isOther ? (await store.seen(found.query)).filter((place) => place !== found.place) : trail;
      if (!found) topics = await store.topics();
      put(found);
      trail = before;
      if (found && trail.at(-1) !== found.place) trail.push(found.place);
      step = found ? trail.length - 1 : trail.length;
    }

    // Put a document on the screen. It is what is judged from the moment on in which it is drawn, not before.
    function put(found) {
      const before = topic && topic.query;
      sought = null;
      find.value = "";
      hit = 0;
      here = null;
      findBar.hidden = true;
      write(sheetFor(found));
      item = found;
      shownAt = new Date().toISOString();
      active = 0;
      touched = Date.now();
      if (item && item.query !== before) {
        topic = topicOf(item);
        drawTopic();
      }
      drawState();
      if (item) drawMine();
      el.document.scrollTop = 0;
      if (getComputedStyle(el.document).overflowY === "visible") window.scrollTo(0, 0);
      focusHeading();
    }

    // Go to a topic, or to any; what is on the screen already and not judged stays as it is. What comes unasked, while
    // somebody may be about to press a key, is not judged by that key.
    const open = (query, isUnasked = false) => alone(() => bring(query, isUnasked));
    async function bring(query, isUnasked = false) {
      const found = await store.next(query);
      if (found && item && !item.kind && found.query === item.query && found.place === item.place) {
        item = {...item, places: found.places, left: found.left};
        drawState();
      } else if (found) {
        await show(found);
        if (isUnasked) deaf = Date.now() + STARTLED;
      } else {
        topic = topics.find((one) => one.query === query) || topic;
        say(query === null ? "" : "Nothing of this topic is left for now.");
        if (item === null) { drawTopic(); await show(null); }
      }
    }

    // What is done

    function trace(method) {
      touch();
      return {key: newKey(), shown_at: shownAt, judged_at: new Date().toISOString(), active_ms: Math.round(active), method};
    }

    // One thing at a time: a key that is pressed while another is being saved waits for nobody and does nothing.
    async function alone(work) {
      if (busy) return;
      busy = true;
      try {
        await work();
      } catch (error) {
        say(error.message, true);
      } finally {
        busy = false;
      }
    }

    async function save(kind, method, more = {}, about = item) {
      if (!about || (kind !== "note" && Date.now() < deaf)) return;
      while (busy && kind === "note") await new Promise((go) => setTimeout(go, 50));  // what was written is not lost
      await alone(async () => {
        const saved = await store.save({kind, query: about.query, place: about.place, doc: about.doc, ...trace(method), ...more});
        if (kind === "note") {
          const isThere = item && item.query === about.query && item.place === about.place;
          if (isThere) { item = {...item, note: more.note}; drawMine(); }
          if (!saved.waiting) say(more.note ? "Note saved." : "Note taken away.");
          return;
        }
        const grade = grades.find((one) => one.value === more.grade);
        const what = {judge: grade ? `${grade.key} ${grade.label}` : "", cannot: "cannot be judged", skip: "put off"}[kind];
        if (saved.waiting) {
          // the store says that it waits, and when it is sent
          if (saved.next) await show(saved.next);
          else { item = {...about, kind, grade: more.grade === undefined ? null : more.grade, waiting: true}; drawState(); drawMine(); }
          return;
        }
        if (saved.next) {
          const isSame = saved.next.query === about.query && saved.next.place === about.place;
          say(isSame ? "It is the only document left of this topic." : `Saved: ${what}.`);
          await show(saved.next);
          return;
        }
        const after = await store.after(about.query);
        const found = after === null ? null : await store.next(after);
        const end = saved.left ? "Others are looking at what is left of this topic" : "This topic is done";
        say(`Saved: ${what}. ${end}${found ? "; here is the next one" : ""}.`);
        await show(found);
      });
    }

    async function move(found, otherwise) {
      await alone(async () => {
        const to = await found();
        if (to) { say(""); await show(to); }
        else say(otherwise);
      });
    }

    // Go to a document that was seen before.
    async function lookAt(at) {
      await alone(async () => {
        put(await store.at(topic.query, trail[at]));
        step = at;
        say("");
      });
    }
    const back = () => (topic && step > 0 ? lookAt(step - 1) : say("This is the first document of the topic."));
    function forward() {
      if (!item) return;
      if (step + 1 < trail.length) lookAt(step + 1);
      else move(() => (item.kind === "judge" || item.kind === "cannot" ? store.next(item.query) : null), "This is the last document of the topic.");
    }

    function act(name, method) {
      const query = item ? item.query : topic && topic.query;
      const acts = {
        back,
        forward,
        undo: () => alone(async () => {
          const {item: found, waiting} = await store.undo(trace(method));
          if (found) {
            if (!waiting) {
              trail = [];  // what was looked at last is no longer behind this document
              say("Undone.");
            }
            await show(found);
          } else if (!waiting) say("There is nothing to undo.");
        }),
        skip: () => save("skip", method),
        cannot: () => save("cannot", method),
        note: showNote,
        topic: () => move(async () => { const after = await store.after(query); return after === null ? null : store.next(after); }, "No other topic has documents left."),
        find: () => item && openFind(),
        highlight: () => {
          isMarked = !isMarked;
          el.document.classList.toggle("marked", isMarked);
          drawState();
          say(isMarked ? "Words of the topic are marked." : "Nothing is marked.");
        },
        page: () => {
          isFramed = !isFramed;
          if (item) { write(sheetFor(item)); drawMine(); }
          if (!findBar.hidden) seek();
          drawState();
          say(isFramed ? "Documents that are pages are shown as pages." : "Documents are shown as text.");
        },
        guidelines: () => dialog("Guidelines", make("div", {class: "body"}, guidelines)),
        help: showHelp,
      };
      unfold(false);
      if (acts[name]) acts[name]();
      else if (extra[name]) extra[name]({item, grades, show, say, dialog, alone, trace: () => trace(method)});
    }

    function touch() {
      const now = Date.now();
      if (document.visibilityState === "visible") active += Math.min(now - touched, AWAY);
      touched = now;
    }
    document.addEventListener("visibilitychange", () => {
      // what passes out of sight does not count
      if (document.visibilityState === "visible") touched = Date.now();
      else { active += Math.min(Date.now() - touched, AWAY); touched = Date.now(); }
    });
    for (const sign of ["scroll", "pointermove", "touchmove"]) document.addEventListener(sign, touch, {passive: true, capture: true});
    document.addEventListener("pointerdown", (event) => { pointer = event.pointerType === "mouse" ? "click" : event.pointerType || "click"; }, {capture: true});

    document.addEventListener("keydown", (event) => {
      if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || event.isComposing || el.dialog.open) return;
      if (/^(INPUT|TEXTAREA|SELECT)$/.test(event.target.tagName)) return;
      if (event.repeat && !/^Arrow/.test(event.key)) { if (/^[0-9a-z]$/i.test(event.key)) event.preventDefault(); return; }
      touch();
      const grade = grades.find((one) => one.key === event.key);
      const chosen = actions.find((one) => one.keys.includes(event.key.length === 1 ? event.key.toLowerCase() : event.key));
      if (!grade && !chosen) return;
      event.preventDefault();
      if (grade) save("judge", "key", {grade: grade.value});
      else act(chosen.name, "key");
    });

    return {
      async begin(query = null) {
        topics = await store.topics();
        await bring(query);  // what fails here is told by the caller, who tries again: it is not that nothing is left
        if (item === null) { topic = topics[0] || null; drawTopic(); put(null); }
      },
      say,
      dialog,
      open,
    };
  }

  return Object.assign(start, {make, newKey});
})();
