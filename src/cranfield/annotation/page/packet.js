"use strict";
/* A packet: everything to judge is in this file, what is judged stays in this browser until it is exported. */
(() => {
  const {make} = startJudging;
  const data = JSON.parse(document.getElementById("data").textContent);
  const root = document.getElementById("root");
  const prefix = `cranfield-packet-${data.packet}:`;
  let kept = null;  // where judgments are kept; null if this browser keeps nothing
  let exported = 0;  // how many events were exported

  try {
    kept = window.localStorage;
    kept.setItem(`${prefix}try`, "1");
    kept.removeItem(`${prefix}try`);
  } catch {
    kept = null;
  }

  // Events, each under a name of its own: two tabs never overwrite each other.

  function read() {
    const found = [];
    if (!kept) return found;
    for (let i = 0; i < kept.length; i += 1) {
      const name = kept.key(i);
      if (!name.startsWith(`${prefix}event:`)) continue;
      try { found.push(JSON.parse(kept.getItem(name))); } catch { /* not ours */ }
    }
    return found;
  }
  const byTime = (one, other) => (one.recorded_at < other.recorded_at ? -1 : one.recorded_at > other.recorded_at ? 1 : one.n - other.n);

  let events = read().sort(byTime);
  let isSafe = kept !== null;
  let screen = null;

  function keep(event) {
    if (kept) {
      try {
        kept.setItem(`${prefix}event:${event.key}`, JSON.stringify(event));
        return;
      } catch {
        isSafe = false;
      }
    }
    if (screen) screen.say("This browser cannot keep your judgments. Export them before you close this page.", true);
  }
  function add(event) {
    if (events.some((one) => one.key === event.key)) return;
    events.push(event);
    events.sort(byTime);
    keep(event);
  }
  window.addEventListener("storage", (change) => {
    if (!change.newValue || !change.key || !change.key.startsWith(`${prefix}event:`)) return;
    const event = JSON.parse(change.newValue);
    if (!events.some((one) => one.key === event.key)) { events.push(event); events.sort(byTime); }
  });
  window.addEventListener("beforeunload", (event) => {
    if (!isSafe && mine().length > exported) { event.preventDefault(); event.returnValue = ""; }
  });

  // The order of a topic: as the file has it for its assessor, else by chance, and kept.

  function chance(seed) {
    // mulberry32 on a hash (FNV-1a) of the seed
    let state = 2166136261;
    for (const char of seed) state = Math.imul(state ^ char.codePointAt(0), 16777619);
    return () => {
      state = (state + 0x6d2b79f5) | 0;
      let t = Math.imul(state ^ (state >>> 15), 1 | state);
      t = (t + Math.imul(t ^ (t >>> 7), 61 | t)) ^ t;
      return ((t ^ (t >>> 14)) >>> 0) / 4294967296;
    };
  }
  function shuffled(list, seed) {
    const [order, next] = [[...list], chance(seed)];
    for (let i = order.length - 1; i > 0; i -= 1) {
      const j = Math.floor(next() * (i + 1));
      [order[i], order[j]] = [order[j], order[i]];
    }
    return order;
  }

  let assessor = data.assessor || (kept && kept.getItem(`${prefix}assessor`)) || "";
  const mine = () => events.filter((event) => event.assessor === assessor);
  const orders = new Map();
  function orderOf(query) {
    if (orders.has(query)) return orders.get(query);
    const topic = data.topics.find((one) => one.query === query);
    const name = `${prefix}order:${assessor}:${query}`;
    let order = null;
    if (data.assessor) order = topic.places.map(([place, doc]) => ({place, doc}));
    else {
      try { order = JSON.parse(kept && kept.getItem(name)); } catch { order = null; }
      if (!order) {
        order = shuffled(topic.places.map(([, doc]) => doc), `${data.seed} ${assessor} ${query}`).map((doc, i) => ({place: i + 1, doc}));
        if (kept) { try { kept.setItem(name, JSON.stringify(order)); } catch { isSafe = false; } }
      }
    }
    orders.set(query, order);
    return order;
  }

  // What the events come to

  function states(query) {
    const own = mine().filter((event) => event.query === query);
    const undone = new Set(own.filter((event) => event.kind === "undo").map((event) => event.undoes));
    const found = new Map();
    own.forEach((event, i) => {
      if (event.kind === "undo" || undone.has(event.key)) return;
      const before = found.get(event.place) || {kind: "", grade: null, note: "", at: i};
      const note = event.note === undefined || event.note === null ? before.note : event.note;
      found.set(event.place, event.kind === "note" ? {...before, note} : {kind: event.kind, grade: event.grade === undefined ? null : event.grade, note, at: i});
    });
    return found;
  }
  const isSettled = (state) => state !== undefined && (state.kind === "judge" || state.kind === "cannot");
  function open(query) {
    const known = states(query);
    const left = orderOf(query).filter(({place}) => !isSettled(known.get(place)));
    const when = ({place}) => (known.get(place) && known.get(place).kind === "skip" ? known.get(place).at + 1 : 0);
    return left.sort((one, other) => when(one) - when(other) || one.place - other.place);
  }
  function item(query, place) {
    const order = orderOf(query);
    const {doc} = order.find((one) => one.place === place);
    const state = states(query).get(place) || {kind: "", grade: null, note: ""};
    const [id, document] = data.documents[doc];
    return {query, doc: id, place, places: order.length, left: open(query).length, kind: state.kind, grade: state.grade, note: state.note, document};
  }
  function seen(query) {
    return [...states(query)].filter(([, state]) => state.kind).sort((one, other) => one[1].at - other[1].at).map(([place]) => place);
  }
  const first = (query) => { const [found] = open(query); return found ? item(query, found.place) : null; };

  const store = {
    async topics() {
      return data.topics.map((topic) => {
        const left = open(topic.query).length;
        return {...topic, places: orderOf(topic.query).length, left, skipped: 0};
      });
    },
    async next(query) {
      if (query !== null) return first(query);
      const last = mine().at(-1);
      const topics = data.topics.map((one) => one.query).sort((one, other) => (last ? (other === last.query) - (one === last.query) : 0));
      for (const topic of topics) { const found = first(topic); if (found) return found; }
      return null;
    },
    async seen(query) {
      return seen(query);
    },
    async at(query, place) {
      return item(query, place);
    },
    async after(query) {
      const every = data.topics.map((one) => one.query);
      const at = every.indexOf(query) + 1;
      const found = [...every.slice(at), ...every.slice(0, at)].find((one) => one !== query && open(one).length);
      return found === undefined ? null : found;
    },
    async save({kind, query, place, doc, grade, note, ...trace}) {
      const there = data.documents[orderOf(query).find((one) => one.place === place).doc][0];
      if (there !== doc) throw new Error(`Document ${place} is ${there}, not ${doc}: nothing was saved. Load the page again.`);
      add({...trace, kind, assessor, query, doc, place, grade, note, recorded_at: new Date().toISOString(), n: events.length, version: data.version});
      return {next: first(query), left: open(query).length};
    },
    async undo(trace) {
      const own = mine();
      const undone = new Set(own.filter((event) => event.kind === "undo").map((event) => event.undoes));
      const last = own.filter((event) => event.kind !== "undo" && !undone.has(event.key)).at(-1);
      if (!last) return {item: null};
      add({...trace, kind: "undo", undoes: last.key, assessor, query: last.query, doc: last.doc, place: last.place, recorded_at: new Date().toISOString(), n: events.length, version: data.version});
      return {item: item(last.query, last.place)};
    },
  };

  // In and out

  function lines() {
    const head = {judgments: {version: 1, packet: data.packet, grades: data.grades}};
    return [head, ...mine().map(({n, ...event}) => event)].map((one) => JSON.stringify(one)).join("\n") + "\n";
  }
  const plainName = (text) => text.replace(/[^\p{L}\p{N}]+/gu, "-").replace(/^-|-$/g, "") || "assessor";
  function exportAll(dialog) {
    const name = `judgments-${plainName(assessor)}-${data.packet.slice(0, 8)}.jsonl`;
    const text = lines();
    const number = mine().length;
    const download = () => {
      const link = make("a", {href: URL.createObjectURL(new Blob([text], {type: "application/x-ndjson"})), download: name});
      link.click();
      exported = number;
      setTimeout(() => URL.revokeObjectURL(link.href), 10000);
    };
    const area = make("textarea", {readonly: true, "aria-label": "Judgments as text", rows: "6"});
    area.value = text;
    area.addEventListener("focus", () => area.select());
    const file = make("input", {type: "file", accept: ".jsonl", "aria-label": "A file that was exported before", onchange: () => load(file.files[0], dialog)});
    dialog("Export",
      make("p", {}, `${number} ${number === 1 ? "entry" : "entries"} by ${assessor}. Send the file to whoever gave you this packet; it can be exported as often as you like.`),
      make("div", {class: "row"}, make("button", {type: "button", class: "act", id: "download", onclick: download}, `Save ${name}`)),
      make("p", {class: "quiet"}, "If your browser saves no files, copy this text into a message:"), area,
      make("p", {class: "quiet"}, "To go on with what was exported before, in another browser say:"), file);
  }
  async function load(file, dialog) {
    if (!file) return;
    let number = 0;
    try {
      for (const line of (await file.text()).split("\n").filter((one) => one.trim())) {
        const event = JSON.parse(line);
        if (event.judgments || !event.key || event.assessor !== assessor) continue;
        if (!data.topics.some((topic) => topic.query === event.query && orderOf(topic.query).some(({place, doc}) => place === event.place && data.documents[doc][0] === event.doc))) continue;
        if (!events.some((one) => one.key === event.key)) { add({...event, n: events.length}); number += 1; }
      }
      dialog("Export", make("p", {}, `${number} taken up.`));
      await screen.begin();
    } catch {
      dialog("Export", make("p", {}, "This file holds no judgments of a packet."));
    }
  }

  function begin() {
    screen = startJudging(root, store, {grades: data.grades, actions: data.actions, guidelines: data.guidelines, more: [{label: "Export", act: exportAll}]});
    if (!isSafe) screen.say("This browser cannot keep your judgments. Export them before you close this page.", true);
    screen.begin();
  }

  // Who judges, where the file does not say

  function ask() {
    const name = make("input", {id: "assessor", required: true, maxlength: "100", autocomplete: "name"});
    const total = data.topics.reduce((sum, topic) => sum + topic.places.length, 0);
    const form = make("form", {onsubmit: (event) => {
      event.preventDefault();
      if (!name.value.trim()) return;
      assessor = name.value.trim();
      if (kept) { try { kept.setItem(`${prefix}assessor`, assessor); } catch { isSafe = false; } }
      begin();
    }}, make("label", {for: "assessor"}, "Your name"), make("div", {class: "row"}, name, make("button", {class: "act"}, "Begin")));
    root.replaceChildren(make("main", {class: "opening"},
      make("h1", {}, data.title),
      make("p", {}, `${total} ${total === 1 ? "document" : "documents"} of ${data.topics.length} ${data.topics.length === 1 ? "topic" : "topics"} to judge, one at a time. Give each a grade; it is kept in this browser, and you can stop and go on whenever you like.`),
      make("p", {}, "At the end, export your judgments and send the file back."), form));
    name.focus();
  }

  if (assessor) begin();
  else ask();
})();
