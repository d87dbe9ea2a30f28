"use strict";
/* The judging screen: shows one document, and says what its judge does to a store.

   startJudging(root, store, {grades, actions, guidelines, version}) draws into an element. A store answers with promises:
     topics()                -> [{query, title, description, narrative, words, places, left, skipped}]
     next(query or null)     -> item or null: the next document of a topic, or of any
     seen(query)             -> [place, …]: what was dealt with before, in the order of time
     at(query, place)        -> item
     after(query)            -> the next topic with documents left, or null
     save({kind, query, place, grade, note, key, shown_at, judged_at, active_ms, method}) -> {next: item or null, left},
       and waiting: true where it is kept in this browser and not sent yet
     undo({key, …})          -> item or null
   `more` is what else is offered above, [{label, act}]. `extra` are functions for actions of other names; each is handed
   {item, grades, show, say, dialog, alone, trace}. `frame(item)` is the address of a document as a page, if it is one.
   An item is {query, doc, place, places, left, kind, grade, note, document: {title, text, fields: [[name, value]]} or null},
   and may have the words in it that are to be marked, words.
   It never holds rank, score, run or what others think. All of it is shown as text, never as HTML. */

const startJudging = (() => {
  const AWAY = 120000;  // ms without a sign of life, of which no more count as looking at the document

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

  const newKey = () => [...crypto.getRandomValues(new Uint8Array(16))].map((n) => n.toString(16).padStart(2, "0")).join("");
  const number = (n) => n.toLocaleString("en");

  // Where a phrase stands in a text, without regard to case; characters that change their length are compared as they are.
  function places(text, phrase) {
    const found = [];
    let [where, what] = [text.toLowerCase(), phrase.toLowerCase()];
    if (where.length !== text.length) [where, what] = [text, phrase];
    for (let at = where.indexOf(what); what && at >= 0; at = where.indexOf(what, at + what.length)) found.push([at, at + what.length]);
    return found;
  }

  function wordPlaces(text, words) {
    const found = [];
    for (const match of text.matchAll(/[\p{L}\p{N}_]+/gu)) {
      if (words.has(match[0].toLowerCase())) found.push([match.index, match.index + match[0].length]);
    }
    return found;
  }

  // Text as nodes, with what is sought and the words of the topic marked.
  function markedText(text, words, sought) {
    const hits = places(text, sought).map(([a, b]) => [a, b, "found"]);
    const free = wordPlaces(text, words).filter(([a, b]) => !hits.some(([c, d]) => a < d && b > c)).map(([a, b]) => [a, b, "word"]);
    const spans = [...hits, ...free].sort((one, other) => one[0] - other[0]);
    const nodes = [];
    let at = 0;
    for (const [from, to, kind] of spans) {
      nodes.push(text.slice(at, from), make("mark", {class: kind}, text.slice(from, to)));
      at = to;
    }
    return [...nodes, text.slice(at)];
  }

  function start(root, store, {grades, actions, guidelines = "", more = [], extra = {}, frame = null}) {
    let item = null;
    let topics = [];
    let topic = null;
    let isMarked = true;
    let isFramed = false;
    let sought = "";
    let hit = 0;
    let shownAt = "";
    let active = 0;
    let touched = 0;
    let busy = false;
    let pointer = "click";
    let trail = [];  // the places of this topic in the order in which they were seen
    let here = 0;  // where in the trail this document is

    const el = {
      progress: make("p", {class: "progress quiet", id: "progress"}),
      said: make("p", {class: "said quiet", role: "status", "aria-live": "polite"}),
      topic: make("aside", {class: "topic", "aria-label": "Topic", tabindex: "0"}),
      document: make("main", {class: "document marked", id: "document", tabindex: "-1", "aria-label": "Document"}),
      grades: make("div", {class: "grades", role: "group", "aria-label": "Grades"}),
      acts: make("div", {class: "acts", role: "group", "aria-label": "Other acts"}),
      dialog: make("dialog", {"aria-labelledby": "dialog-title"}),
    };
    const find = make("input", {type: "search", "aria-label": "Find in the document", size: "20", autocomplete: "off"});
    const findCount = make("span", {class: "quiet", role: "status"});
    const findBar = make("div", {class: "find", hidden: true, role: "search"}, find,
      make("button", {type: "button", class: "plain", onclick: () => step(1)}, "Next"),
      make("button", {type: "button", class: "plain", onclick: () => closeFind()}, "Close"), findCount);

    const sheet = make("div");  // apart from the find bar, which must keep its focus while the text is drawn anew
    el.document.append(findBar, sheet);

    const above = ["search", "guidelines", "help"];  // rarely needed, and in nobody's way there
    const top = above.map((name) => actions.find((one) => one.name === name)).filter(Boolean);
    const nav = make("nav", {"aria-label": "More"},
      make("button", {type: "button", class: "plain", onclick: () => showTopics()}, "Topics"),
      ...top.map((one) => make("button", {type: "button", class: "plain", onclick: () => act(one.name, pointer)}, one.label, " ", make("kbd", {class: "hint"}, one.keys[0]))),
      ...more.map(({label, act: run}) => make("button", {type: "button", class: "plain", onclick: () => run(dialog, say)}, label)));
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
    for (const one of actions.filter(({name}) => !above.includes(name))) {
      el.acts.append(make("button", {type: "button", class: "act", "data-act": one.name, title: one.about, "aria-keyshortcuts": one.keys[0], onclick: () => act(one.name, pointer)},
        make("kbd", {class: "hint"}, one.keys[0]), " ", one.label));
    }

    function say(text, isWrong = false) {
      el.said.textContent = text;
      el.said.classList.toggle("wrong", isWrong);
    }

    // Dialogs

    function dialog(title, ...content) {
      const close = make("button", {type: "button", class: "act", onclick: () => el.dialog.close()}, "Close");
      el.dialog.replaceChildren(make("h2", {id: "dialog-title"}, title), ...content, make("div", {class: "row"}, close));
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
      const note = make("textarea", {"aria-label": "Note", maxlength: "20000"});
      note.value = item.note || "";
      const keep = () => { el.dialog.close(); save("note", "key", {note: note.value.trim()}); };
      note.addEventListener("keydown", (event) => { if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) { event.preventDefault(); keep(); } });
      dialog("Note", note, make("div", {class: "row"}, make("button", {type: "button", class: "act", onclick: keep}, "Save ", make("kbd", {class: "hint"}, "Ctrl Enter"))));
      note.focus();
    }

    async function showTopics() {
      topics = await store.topics();
      const rows = topics.map((one) => make("li", {},
        make("button", {type: "button", class: "plain", onclick: () => { el.dialog.close(); open(one.query); }}, one.title || one.query),
        make("span", {class: "quiet"}, one.left ? `${number(one.left)} of ${number(one.places)} left` : "done")));
      dialog("Topics", make("ul", {}, ...rows));
    }

    // Find in the document

    function openFind() {
      findBar.hidden = false;
      find.focus();
      find.select();
    }
    function closeFind() {
      findBar.hidden = true;
      sought = find.value = "";
      drawText();
      focusHeading();
    }
    function step(by) {
      const found = [...el.document.querySelectorAll("mark.found")];
      findCount.textContent = sought ? `${found.length ? hit + 1 : 0} of ${found.length}` : "";
      if (!found.length) return;
      found.forEach((one) => one.classList.remove("here"));
      hit = (hit + by + found.length) % found.length;
      found[hit].classList.add("here");
      found[hit].scrollIntoView({block: "center"});
      findCount.textContent = `${hit + 1} of ${found.length}`;
    }
    find.addEventListener("input", () => { sought = find.value; hit = 0; drawText(); step(0); });
    find.addEventListener("keydown", (event) => {
      if (event.key === "Enter") { event.preventDefault(); step(event.shiftKey ? -1 : 1); }
      else if (event.key === "Escape") { event.preventDefault(); closeFind(); }
    });

    // What is shown

    function drawTopic() {
      const about = topic || {query: "", title: "", description: "", narrative: ""};
      el.topic.replaceChildren(make("h2", {}, about.title || about.query),
        ...[about.description, about.narrative].filter(Boolean).map((text) => make("p", {}, text)),
        make("p", {class: "quiet"}, `Topic ${about.query}`));
      el.topic.scrollTop = 0;
    }

    function drawText() {
      if (!item) return;
      const words = new Set(item.words || (topic && topic.words) || []);
      const body = item.document;
      const draw = (text) => markedText(text, words, sought);
      const state = stateText();
      const fields = body ? body.fields : [];
      write(
        make("h1", {tabindex: "-1"}, ...(body && body.title ? draw(body.title) : [item.doc])),
        make("p", {class: "quiet id"}, item.doc),
        ...(fields.length ? [make("dl", {class: "quiet"}, ...fields.flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, ...draw(value))]))] : []),
        ...(state ? [make("p", {class: "mine quiet"}, state)] : []),
        isFramed && body && body.is_page && frame ? make("iframe", {class: "page", sandbox: "", src: frame(item), title: "The document as a page", referrerpolicy: "no-referrer"}) :
        make("div", {class: "text"}, ...(body ? (body.text ? draw(body.text) : ["This document is empty."]) : ["There is no text of this document."])));
    }

    // What had the focus may go: then the heading has it, so that keys and screen readers never lose their place.
    function write(...content) {
      const hadFocus = sheet.contains(document.activeElement) || document.activeElement === document.body;
      sheet.replaceChildren(...content);
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
      return [state, item.note ? `Your note: ${item.note}` : ""].filter(Boolean).join("\n");
    }

    function draw() {
      const has = item !== null;
      for (const button of [...el.grades.children, ...el.acts.children]) {
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
      if (has) drawText();
      else write(make("h1", {tabindex: "-1"}, "Nothing left here"), make("p", {}, "Everything that is yours to judge is judged. Thank you."));
    }

    // Show a document that comes next.
    async function show(found) {
      const isOther = found && (!topic || found.query !== topic.query || !trail.length);
      if (isOther) trail = (await store.seen(found.query)).filter((place) => place !== found.place);
      if (found && trail.at(-1) !== found.place) trail.push(found.place);
      here = found ? trail.length - 1 : trail.length;
      put(found);
    }

    // Put a document on the screen.
    function put(found) {
      const before = topic && topic.query;
      item = found;
      sought = find.value = "";
      findBar.hidden = true;
      hit = 0;
      shownAt = new Date().toISOString();
      active = 0;
      touched = Date.now();
      if (item && item.query !== before) {
        topic = topics.find((one) => one.query === item.query) || {query: item.query, title: item.query, description: "", narrative: "", words: []};
        drawTopic();
      }
      draw();
      el.document.scrollTop = 0;
      if (getComputedStyle(el.document).overflowY === "visible") window.scrollTo(0, 0);
      focusHeading();
    }

    async function open(query) {
      await alone(async () => {
        const found = await store.next(query);
        if (found) await show(found);
        else {
          topic = topics.find((one) => one.query === query) || topic;
          say(query === null ? "" : "Nothing of this topic is left for now.");
          if (item === null) { drawTopic(); draw(); }
        }
      });
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

    async function save(kind, method, more = {}) {
      if (!item) return;
      await alone(async () => {
        const here = item;
        const saved = await store.save({kind, query: here.query, place: here.place, ...trace(method), ...more});
        if (kind === "note") {
          item = {...here, note: more.note};
          drawText();
          if (!saved.waiting) say(more.note ? "Note saved." : "Note taken away.");
          return;
        }
        const grade = grades.find((one) => one.value === more.grade);
        const what = {judge: grade ? `${grade.key} ${grade.label}` : "", cannot: "cannot be judged", skip: "put off"}[kind];
        if (saved.waiting) {
          // the store says that it waits, and when it is sent
          if (saved.next) await show(saved.next);
          else { item = {...here, kind, grade: more.grade === undefined ? null : more.grade}; draw(); }
          return;
        }
        if (saved.next) {
          const isSame = saved.next.query === here.query && saved.next.place === here.place;
          say(isSame ? "It is the only document left of this topic." : `Saved: ${what}.`);
          await show(saved.next);
          return;
        }
        const after = await store.after(here.query);
        const found = after === null ? null : await store.next(after);
        say(`Saved: ${what}. This topic is done${found ? "; here is the next one" : ""}.`);
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
        here = at;
        say("");
      });
    }
    const back = () => (topic && here > 0 ? lookAt(here - 1) : say("This is the first document of the topic."));
    function forward() {
      if (!item) return;
      if (here + 1 < trail.length) lookAt(here + 1);
      else move(() => (item.kind === "judge" || item.kind === "cannot" ? store.next(item.query) : null), "This is the last document of the topic.");
    }

    function act(name, method) {
      const query = item ? item.query : topic && topic.query;
      const acts = {
        back,
        forward,
        undo: () => alone(async () => {
          const found = await store.undo(trace(method));
          if (found) {
            trail = [];  // what was looked at last is no longer behind this document
            say("Undone.");
            await show(found);
          }
          else say("There is nothing to undo.");
        }),
        skip: () => save("skip", method),
        cannot: () => save("cannot", method),
        note: showNote,
        topic: () => move(async () => { const after = await store.after(query); return after === null ? null : store.next(after); }, "No other topic has documents left."),
        find: () => item && openFind(),
        highlight: () => {
          isMarked = !isMarked;
          el.document.classList.toggle("marked", isMarked);
          draw();
          say(isMarked ? "Words of the topic are marked." : "Nothing is marked.");
        },
        page: () => {
          isFramed = !isFramed;
          draw();
          say(isFramed ? "Documents that are pages are shown as pages." : "Documents are shown as text.");
        },
        guidelines: () => dialog("Guidelines", make("div", {class: "body"}, guidelines || "There are no guidelines.")),
        help: showHelp,
      };
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
        await open(query);
        if (item === null) { topic = topics[0] || null; drawTopic(); draw(); }
      },
      say,
      dialog,
      open,
    };
  }

  return Object.assign(start, {make, newKey});
})();
