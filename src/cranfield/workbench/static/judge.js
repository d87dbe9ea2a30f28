"use strict";
/* Judging over the network. Actions are stored in this browser until the server has them on disk: a lost connection, a
   closed tab or a restarted server loses nothing, and the key of each action prevents it from being counted twice. */
(async () => {
  const {make} = startJudging;
  const root = document.getElementById("root");
  const meta = (name) => document.querySelector(`meta[name="${name}"]`).content;
  let token = meta("csrf");
  const TIMEOUT = 20000;  // ms to wait for a response
  const FIRST_RETRY = 1500;  // ms until the first retry; doubled each time, up to
  const MAX_RETRY = 20000;

  const FINAL = [400, 404, 409, 413, 422];  // statuses that a retry would not change

  class Offline extends Error {
    constructor() { super("No connection to the server."); }
  }
  class Refused extends Error {
    constructor(status, message) { super(message); this.status = status; }
  }
  class Elsewhere extends Error {}  // another user is signed in now, or another log is served

  async function fetchJson(path, body) {
    const given = body === undefined ? {} : {method: "POST", body: JSON.stringify(body), headers: {"content-type": "application/json", "x-csrf-token": token}};
    let answer;
    try {
      answer = await fetch(path, {...given, signal: AbortSignal.timeout(TIMEOUT)});
      if (answer.status >= 502 && answer.status <= 504) throw new Offline();
      const found = await answer.json();
      if (answer.ok) return found;
      throw new Refused(answer.status, answer.status === 401 ? "You are signed out. Sign in again in another tab; nothing is lost." : found.error);
    } catch (error) {
      if (error instanceof Refused) throw error;
      throw new Offline();  // no response, or only a part of it
    }
  }

  // Ids may contain bytes that are not UTF-8: they arrive as lone surrogates and are sent back as those bytes.
  function encodeId(text) {
    return [...text].map((char) => {
      const code = char.codePointAt(0);
      return code >= 0xdc80 && code <= 0xdcff ? `%${(code - 0xdc00).toString(16).toUpperCase()}` : encodeURIComponent(char.isWellFormed && !char.isWellFormed() ? "\ufffd" : char);
    }).join("");
  }

  const about = await fetchJson("/api/judging").catch((error) => { root.replaceChildren(make("p", {class: "opening"}, error.message)); throw error; });
  // Every request names the assessor and the log: another tab may change the session, and another workspace may be
  // served at the same address.
  const identity = {log: about.log, who: about.assessor};
  const named = (path) => `${path}${path.includes("?") ? "&" : "?"}log=${encodeId(identity.log)}&who=${encodeId(identity.who)}`;
  const where = (query, place) => named(`?query=${encodeId(query)}&place=${place || 0}`);

  async function ask(path, body) {
    const asked = () => (body === undefined ? fetchJson(`/api/judging${path}`) : fetchJson(`/api/judging${path}`, {...body, ...identity}));
    try {
      return await asked();
    } catch (error) {
      if (error.status !== 403 || body === undefined) throw error;
      token = (await fetchJson("/api/session")).csrf;  // it may have expired
      return asked();
    }
  }

  // Actions that are not confirmed yet

  const acts = keepActs(identity.log, identity.who);
  const outcomes = new Map();  // responses, by the name of the action
  let sending = Promise.resolve();

  // Send all waiting actions, oldest first. After a temporary failure they keep waiting; an action that is refused for
  // good is set aside for the assessor to see, and the others continue.
  function flush() {
    const run = async () => {
      for (const {name} of acts.waiting()) {
        const act = acts.take(name);
        if (act === null) continue;  // another tab was faster
        try {
          outcomes.set(name, {answer: await ask(act.path, act.body)});
          acts.drop(name);
        } catch (error) {
          if (!FINAL.includes(error.status)) throw error;
          await checkIdentity();
          acts.refuse(name, error.message);
          outcomes.set(name, {error});
        }
      }
    };
    sending = sending.then(run, run);
    return sending;
  }

  // Check that the server still has the assessor and the log of this page. If not, refused actions may be sent later.
  async function checkIdentity() {
    const now = await fetchJson("/api/judging");
    if (now.log !== identity.log) throw new Elsewhere("The server now has another judgment log than this page.");
    if (now.assessor !== identity.who) throw new Elsewhere(`${now.assessor} is signed in now, but this page belongs to ${identity.who}.`);
  }

  // Waiting actions that were not undone, in order
  function undoable() {
    const all = acts.waiting();
    const undone = new Set(all.map(({body}) => body.undoes));
    return all.filter(({path, body}) => path === "/save" && !undone.has(body.key)).map(({name, body}) => ({name, ...body}));
  }
  const isSame = (one, other) => one && other && one.query === other.query && one.place === other.place;

  let pause = FIRST_RETRY;
  let timer = null;
  let screen = null;
  let isBegun = false;
  let isLost = false;
  let isElsewhere = false;

  function lost(error) {
    isLost = true;
    const n = acts.waiting().length;
    const waits = n === 1 ? " 1 action is" : ` ${n} actions are`;
    screen.say(`${error.message}${n ? `${waits} stored in this browser and will be sent when the connection is back.` : ""}`, true);
    if (error instanceof Elsewhere && !isElsewhere && !root.querySelector("dialog[open]")) {
      isElsewhere = true;
      screen.dialog("This page is out of date",
        make("p", {}, error.message),
        make("p", {}, `${n ? "Your last action was not recorded. It is stored in this browser" : "Nothing was recorded. Your actions are stored in this browser"} and sent to the log of this page for ${identity.who} as soon as possible.`),
      ).querySelector(".row").prepend(make("button", {type: "button", class: "act", onclick: () => location.reload()}, "Reload the page"));
    }
    tell();
    clearTimeout(timer);
    timer = setTimeout(retry, pause);
  }
  function calm() {
    isLost = isElsewhere = false;
    pause = FIRST_RETRY;
    clearTimeout(timer);
    tell();
  }
  async function retry() {
    const [n, before] = [acts.waiting().length, acts.refused().length];
    try {
      await flush();
      if (!isBegun) await begin();
    } catch (error) {
      pause = Math.min(pause * 2, MAX_RETRY);
      lost(error);
      return;
    }
    if (!isLost) return;
    calm();
    await screen.open(here ? here.query : null, true);
    const refused = acts.refused().length - before;
    if (refused > 0) screen.say(`Sent: ${n - refused}. Refused, see "Not sent": ${refused}.`, true);
    else screen.say(`Connected again; everything is saved${n ? ` (${n})` : ""}.`);
  }
  window.addEventListener("online", () => { if (isLost) { pause = FIRST_RETRY; retry(); } });
  window.addEventListener("beforeunload", (event) => { if (acts.isLoose()) { event.preventDefault(); event.returnValue = ""; } });

  // The next documents are fetched in advance, to continue for a while without a connection

  let here = null;
  let next = [];
  const past = [];

  function arrived(item) {
    if (here && item) past.push(here);
    if (past.length > 50) past.shift();
    here = item;
    next = [];
    if (item) setTimeout(async () => {
      try {
        const {items} = await ask(`/ahead${where(item.query, item.place)}`);
        if (here === item) next = items;
      } catch { /* then there is nothing to continue with */ }
    }, 100);
    return item;
  }
  const titleOf = (act) => [here, ...past].find((one) => isSame(one, act))?.document?.title || "";

  // Send an action: the response, null if another tab got it, or the result of `otherwise` after a failure, when the
  // action waits.
  async function send(path, act, otherwise) {
    const name = acts.add(path, {...act, ...identity}, titleOf(act));
    let failed = null;
    try { await flush(); } catch (error) { failed = error; }
    const outcome = outcomes.get(name) || acts.take(name) || {answer: null};
    outcomes.delete(name);
    if (failed === null) calm();
    if (outcome.error) throw new Error(`Not sent: ${outcome.error.message || outcome.error}`);
    const answer = outcome.answer === undefined ? otherwise(failed) : outcome.answer;
    if (failed !== null) lost(failed);
    return answer;
  }

  const store = {
    topics: async () => (await ask(named("/topics"))).topics,
    next: async (query) => arrived((await ask("/next", {query})).item),
    seen: async (query) => {
      try {
        return (await ask(named(`/seen?query=${encodeId(query)}`))).places;
      } catch (error) {
        if (error instanceof Offline) return [];  // then there is no way back for now
        throw error;
      }
    },
    at: async (query, place) => arrived((await ask(`/item${where(query, place)}`)).item),
    after: async (query) => (await ask(named(`/after?query=${encodeId(query)}`))).query,
    save: async (act) => {
      // who says something else before it was sent means the last word
      const before = act.kind === "note" ? null : undoable().find((one) => isSame(one, act) && one.kind !== "note");
      if (before) acts.drop(before.name);
      const saved = await send("/save", act, (error) => {
        const found = error instanceof Offline && act.kind !== "note" ? next.shift() || null : null;
        if (found) {
          past.push(here);
          here = {...found, left: Math.max(0, here.left - (act.kind === "skip" ? 0 : 1))};
        }
        return {waiting: true, next: found ? here : null};
      });
      if (act.kind === "note") return saved || {next: null};
      if (saved === null) return {next: await store.next(act.query)};
      if (!saved.waiting) arrived(saved.next);
      return saved;
    },
    undo: async (act) => {
      const last = undoable().at(-1);
      const answer = await send("/undo", {...act, undoes: last ? last.key : null}, (error) => {
        const known = error instanceof Offline ? [...past, here].findLast((one) => isSame(one, last)) : null;
        if (!known) return {waiting: true, item: null};
        if (known !== here) next.unshift(here);
        past.splice(0, past.length, ...past.filter((one) => one !== known));
        here = known;
        return {waiting: true, item: known};
      });
      if (answer === null) return {item: await store.next(null)};
      return answer.waiting ? answer : {item: arrived(answer.item)};
    },
  };

  // Unsent actions are not lost: they can be viewed, saved as a file for import, and discarded

  function tell() {
    const button = root.querySelector('[data-more="unsent"]');
    const n = acts.refused().length + acts.elsewhere().length + (isLost ? acts.waiting().length : 0);
    button.textContent = `Not sent: ${n}`;
    button.hidden = !n;
  }
  function describe({path, body, title}) {
    const grade = about.grades.find(({value}) => value === body.grade);
    const what = {judge: grade ? `${grade.key} ${grade.label}` : `grade ${body.grade}`, cannot: "cannot be judged", skip: "skipped", note: `note "${body.note}"`}[body.kind];
    return path === "/undo" ? "Undo" : `Topic ${body.query}, ${title || body.doc}: ${what}`;
  }
  function eventOf({path, body}) {
    const {log, who, ...event} = body;
    return JSON.stringify({...event, assessor: who, kind: path === "/undo" ? "undo" : body.kind, version: about.version});
  }
  function saveFile(list, head) {
    const lines = [JSON.stringify({judgments: {version: 1, ...head}}), ...list.map(eventOf)];
    const link = make("a", {href: URL.createObjectURL(new Blob([`${lines.join("\n")}\n`], {type: "application/x-ndjson"})), download: "not-sent.jsonl"});
    link.click();
    setTimeout(() => URL.revokeObjectURL(link.href), 10000);
  }
  function showUnsent() {
    const others = acts.elsewhere();
    const logs = [...new Set(others.map(({log}) => log))];
    const parts = [
      ["", [...acts.refused(), ...acts.waiting()], {grades: about.grades}],
      ...logs.map((log) => ["For another log, which was served at this address before:", others.filter((act) => act.log === log), {}]),
    ].filter(([, list]) => list.length);
    const discard = (act) => {
      if (!window.confirm(`Discard this for good? ${describe(act)}`)) return;
      acts.drop(act.name);
      tell();
      showUnsent();
    };
    screen.dialog("Not sent",
      make("p", {}, parts.length ? "These actions are stored in this browser only. Save them as a file for the coordinator to import." : "Everything was sent or discarded."),
      ...parts.map(([heading, list, head]) => {
        const whole = list.filter(({path, body}) => path !== "/undo" || body.undoes);
        return make("section", {},
          heading ? make("p", {}, heading) : null,
          make("ul", {}, list.map((act) => make("li", {},
            make("div", {}, describe(act), make("p", {class: "quiet"}, act.error || (act.log === identity.log ? "waiting to be sent" : "waiting for its log"))),
            make("button", {type: "button", class: "plain", onclick: () => discard(act)}, "Discard")))),
          whole.length < list.length ? make("p", {class: "quiet"}, "Actions that were undone are not in the file.") : null,
          make("div", {class: "row"}, make("button", {type: "button", class: "act", disabled: !whole.length, onclick: () => saveFile(whole, head)}, "Save as a file")));
      }));
  }

  // Search for more documents

  function openSearch({item, grades, show, say, dialog, alone, trace}) {
    if (!item) return;
    const words = make("input", {type: "search", "aria-label": "Words to search for", size: "30", autocomplete: "off", maxlength: "500"});
    const list = make("ul", {});
    const status = make("p", {class: "quiet", role: "status"});
    const state = (one) => {
      const grade = grades.find(({value}) => value === one.grade);
      return {judge: grade ? `you gave it ${grade.key}` : "", cannot: "you could not judge it", skip: "you skipped it"}[one.kind] || "";
    };
    async function run(event) {
      event.preventDefault();
      if (!words.value.trim()) return;
      status.textContent = "Searching …";
      try {
        const {found} = await ask("/search", {query: item.query, words: words.value.trim(), ...trace()});
        status.textContent = found.length ? "" : "No documents found.";
        list.replaceChildren(...found.map((one) => make("li", {},
          make("div", {},
            make("button", {type: "button", class: "plain", onclick: () => take(one.doc)}, make("bdi", {}, one.title || one.doc)),
            make("p", {class: "quiet", dir: "auto"}, one.beginning)),
          make("span", {class: "quiet"}, state(one)))));
      } catch (error) { status.textContent = error.message; }
    }
    function take(doc) {
      box.close();
      alone(async () => {
        const {item: taken} = await ask("/found", {query: item.query, doc, words: words.value.trim(), ...trace()});
        say("Found by your search.");
        show(arrived(taken));
      });
    }
    const box = dialog("Search for more documents",
      make("p", {class: "quiet"}, "Your searches are recorded. You can judge a document as soon as you open it."),
      make("form", {class: "find", onsubmit: run}, words, make("button", {class: "act"}, "Search")), status, list);
    words.focus();
  }

  const actions = [...about.actions];
  actions.splice(actions.findIndex(({name}) => name === "guidelines"), 0,
    ...(about.search ? [{name: "search", keys: ["e"], label: "Search", about: "search for more documents of this topic"}] : []),
    {name: "page", keys: ["p"], label: "As page", about: "show a web page as a page, or as text"});
  const more = [{name: "unsent", label: "", act: showUnsent}, {label: meta("role") === "coordinator" ? "Workbench" : "Account", act: () => { location.href = meta("role") === "coordinator" ? "/progress" : "/account"; }}];

  screen = startJudging(root, store, {
    grades: about.grades, actions, guidelines: about.guidelines, more, extra: {search: openSearch},
    frame: (item) => `/judge/document${where(item.query, item.place)}`,
  });
  async function begin() {
    const query = new URLSearchParams(location.search).get("query");
    try {
      await screen.begin(query);
    } catch (error) {
      if (query === null || !FINAL.includes(error.status)) throw error;
      await screen.begin();  // no such topic: open another one
      screen.say(error.message, true);
    }
    isBegun = true;
  }
  let failed = null;
  try { await flush(); } catch (error) { failed = error; }
  try { await begin(); } catch (error) { failed = failed || error; }
  if (failed !== null) lost(failed);
  else tell();
})();
