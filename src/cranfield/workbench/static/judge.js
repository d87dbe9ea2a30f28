"use strict";
/* Judging over the network. What a judge does is kept in this browser until the server has it on disk: a lost connection,
   a closed tab or a server that is started anew lose nothing, and the key of each act keeps it from being counted twice. */
(async () => {
  const {make} = startJudging;
  const root = document.getElementById("root");
  const meta = (name) => document.querySelector(`meta[name="${name}"]`).content;
  let token = meta("csrf");
  const PATIENCE = 20000;  // ms to wait for an answer
  const FIRST_TRY = 1500;  // ms until what could not be sent is tried again; twice as long each time, up to
  const LAST_TRY = 20000;

  const FINAL = [400, 404, 409, 413, 422];  // what is refused with these would be refused again

  class Offline extends Error {
    constructor() { super("No connection to the server."); }
  }
  class Refused extends Error {
    constructor(status, message) { super(message); this.status = status; }
  }
  class Elsewhere extends Error {}  // somebody else is signed in now, or another log is served

  async function fetched(path, body) {
    const given = body === undefined ? {} : {method: "POST", body: JSON.stringify(body), headers: {"content-type": "application/json", "x-csrf-token": token}};
    let answer;
    try {
      answer = await fetch(path, {...given, signal: AbortSignal.timeout(PATIENCE)});
      if (answer.status >= 502 && answer.status <= 504) throw new Offline();
      const found = await answer.json();
      if (answer.ok) return found;
      throw new Refused(answer.status, answer.status === 401 ? "You are signed out. Sign in in another tab: nothing is lost." : found.error);
    } catch (error) {
      if (error instanceof Refused) throw error;
      throw new Offline();  // nothing came, or only a part of it
    }
  }

  // Ids may have bytes that are no UTF-8; they come as single surrogates, and go back as those bytes.
  function encodeId(text) {
    return [...text].map((char) => {
      const code = char.codePointAt(0);
      return code >= 0xdc80 && code <= 0xdcff ? `%${(code - 0xdc00).toString(16).toUpperCase()}` : encodeURIComponent(char.isWellFormed && !char.isWellFormed() ? "\ufffd" : char);
    }).join("");
  }

  const about = await fetched("/api/judging").catch((error) => { root.replaceChildren(make("p", {class: "opening"}, error.message)); throw error; });
  // Whatever is asked and said tells for whom and about which log: a session may change in another tab, and another
  // workspace be served at the same address.
  const seat = {log: about.log, who: about.assessor};
  const named = (path) => `${path}${path.includes("?") ? "&" : "?"}log=${encodeId(seat.log)}&who=${encodeId(seat.who)}`;
  const where = (query, place) => named(`?query=${encodeId(query)}&place=${place || 0}`);

  async function ask(path, body) {
    const asked = () => (body === undefined ? fetched(`/api/judging${path}`) : fetched(`/api/judging${path}`, {...body, ...seat}));
    try {
      return await asked();
    } catch (error) {
      if (error.status !== 403 || body === undefined) throw error;
      token = (await fetched("/api/session")).csrf;  // it may be out of date
      return asked();
    }
  }

  // What was done and is not yet confirmed

  const acts = keepActs(seat.log, seat.who);
  const outcomes = new Map();  // by the name of an act: what it was answered
  let sending = Promise.resolve();

  // Send everything that waits, oldest first. What fails for now stays, with all that is behind it; what is refused for
  // good is kept apart, for the judge to see, and the others go on.
  function flush() {
    const run = async () => {
      for (const {name} of acts.waiting()) {
        const act = acts.take(name);
        if (act === null) continue;  // another tab was quicker
        try {
          outcomes.set(name, {answer: await ask(act.path, act.body)});
          acts.drop(name);
        } catch (error) {
          if (!FINAL.includes(error.status)) throw error;
          await checkSeat();
          acts.refuse(name, error.message);
          outcomes.set(name, {error});
        }
      }
    };
    sending = sending.then(run, run);
    return sending;
  }

  // Whether this page still speaks to its log for its judge. If not, what was refused may be sent another time.
  async function checkSeat() {
    const now = await fetched("/api/judging");
    if (now.log !== seat.log) throw new Elsewhere("Another log of judgments is served here now than that of this page.");
    if (now.assessor !== seat.who) throw new Elsewhere(`${now.assessor} is signed in here now, and this page is of ${seat.who}.`);
  }

  // What waits and was not taken back, in its order
  function undoable() {
    const all = acts.waiting();
    const undone = new Set(all.map(({body}) => body.undoes));
    return all.filter(({path, body}) => path === "/save" && !undone.has(body.key)).map(({name, body}) => ({name, ...body}));
  }
  const isSame = (one, other) => one && other && one.query === other.query && one.place === other.place;

  let pause = FIRST_TRY;
  let timer = null;
  let screen = null;
  let isBegun = false;
  let isLost = false;
  let isElsewhere = false;

  function lost(error) {
    isLost = true;
    const n = acts.waiting().length;
    const waits = n === 1 ? " 1 act waits" : ` ${n} acts wait`;
    screen.say(`${error.message}${n ? `${waits} in this browser and will be sent as soon as it works again.` : ""}`, true);
    if (error instanceof Elsewhere && !isElsewhere && !root.querySelector("dialog[open]")) {
      isElsewhere = true;
      screen.dialog("This page is out of date",
        make("p", {}, error.message),
        make("p", {}, `${n ? "What you did last was not recorded: it is kept in this browser" : "Nothing was recorded. What you do here is kept in this browser"}, and sent to the log of this page for ${seat.who} as soon as that is possible.`),
      ).querySelector(".row").prepend(make("button", {type: "button", class: "act", onclick: () => location.reload()}, "Load the page again"));
    }
    tell();
    clearTimeout(timer);
    timer = setTimeout(retry, pause);
  }
  function calm() {
    isLost = isElsewhere = false;
    pause = FIRST_TRY;
    clearTimeout(timer);
    tell();
  }
  async function retry() {
    const [n, before] = [acts.waiting().length, acts.refused().length];
    try {
      await flush();
      if (!isBegun) await begin();
    } catch (error) {
      pause = Math.min(pause * 2, LAST_TRY);
      lost(error);
      return;
    }
    if (!isLost) return;
    calm();
    await screen.open(here ? here.query : null, true);
    const refused = acts.refused().length - before;
    if (refused > 0) screen.say(`Sent: ${n - refused}. Refused, and kept under "Not sent": ${refused}.`, true);
    else screen.say(`It works again; everything is saved${n ? ` (${n})` : ""}.`);
  }
  window.addEventListener("online", () => { if (isLost) { pause = FIRST_TRY; retry(); } });
  window.addEventListener("beforeunload", (event) => { if (acts.isLoose()) { event.preventDefault(); event.returnValue = ""; } });

  // What comes next is fetched ahead, so that one can go on for a while without a connection

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
      } catch { /* then there is nothing to go on with */ }
    }, 100);
    return item;
  }
  const titleOf = (act) => [here, ...past].find((one) => isSame(one, act))?.document?.title || "";

  // Say something to the server: what it answers, null if another tab got the answer, or what `otherwise` makes of a
  // failure, after which it waits.
  async function send(path, act, otherwise) {
    const name = acts.add(path, {...act, ...seat}, titleOf(act));
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

  // What was not sent is not lost: it can be seen, saved as a file that can be imported, and given up

  function tell() {
    const button = root.querySelector('[data-more="unsent"]');
    const n = acts.refused().length + acts.elsewhere().length + (isLost ? acts.waiting().length : 0);
    button.textContent = `Not sent: ${n}`;
    button.hidden = !n;
  }
  function described({path, body, title}) {
    const grade = about.grades.find(({value}) => value === body.grade);
    const what = {judge: grade ? `${grade.key} ${grade.label}` : `grade ${body.grade}`, cannot: "cannot be judged", skip: "put off", note: `note "${body.note}"`}[body.kind];
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
      ...logs.map((log) => ["Of another log, which was served at this address before:", others.filter((act) => act.log === log), {}]),
    ].filter(([, list]) => list.length);
    const giveUp = (act) => {
      if (!window.confirm(`Give this up for good? ${described(act)}`)) return;
      acts.drop(act.name);
      tell();
      showUnsent();
    };
    screen.dialog("Not sent",
      make("p", {}, parts.length ? "This is kept in this browser only. Saved as a file, it can be imported by whoever coordinates judging." : "Everything was sent, or was given up."),
      ...parts.map(([heading, list, head]) => {
        const whole = list.filter(({path, body}) => path !== "/undo" || body.undoes);
        return make("section", {},
          heading ? make("p", {}, heading) : null,
          make("ul", {}, list.map((act) => make("li", {},
            make("div", {}, described(act), make("p", {class: "quiet"}, act.error || (act.log === seat.log ? "waits, and is tried again" : "waits for its log"))),
            make("button", {type: "button", class: "plain", onclick: () => giveUp(act)}, "Give up")))),
          whole.length < list.length ? make("p", {class: "quiet"}, "What was undone before is not in the file.") : null,
          make("div", {class: "row"}, make("button", {type: "button", class: "act", disabled: !whole.length, onclick: () => saveFile(whole, head)}, "Save as a file")));
      }));
  }

  // Looking for more

  function openSearch({item, grades, show, say, dialog, alone, trace}) {
    if (!item) return;
    const words = make("input", {type: "search", "aria-label": "Words to search for", size: "30", autocomplete: "off", maxlength: "500"});
    const list = make("ul", {});
    const told = make("p", {class: "quiet", role: "status"});
    const state = (one) => {
      const grade = grades.find(({value}) => value === one.grade);
      return {judge: grade ? `you gave it ${grade.key}` : "", cannot: "you could not judge it", skip: "you skipped it"}[one.kind] || "";
    };
    async function run(event) {
      event.preventDefault();
      if (!words.value.trim()) return;
      told.textContent = "Searching …";
      try {
        const {found} = await ask("/search", {query: item.query, words: words.value.trim(), ...trace()});
        told.textContent = found.length ? "" : "Nothing was found.";
        list.replaceChildren(...found.map((one) => make("li", {},
          make("div", {},
            make("button", {type: "button", class: "plain", onclick: () => take(one.doc)}, make("bdi", {}, one.title || one.doc)),
            make("p", {class: "quiet", dir: "auto"}, one.beginning)),
          make("span", {class: "quiet"}, state(one)))));
      } catch (error) { told.textContent = error.message; }
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
      make("p", {class: "quiet"}, "What you search for is recorded. A document that you open can be judged at once."),
      make("form", {class: "find", onsubmit: run}, words, make("button", {class: "act"}, "Search")), told, list);
    words.focus();
  }

  const actions = [...about.actions];
  actions.splice(actions.findIndex(({name}) => name === "guidelines"), 0,
    ...(about.search ? [{name: "search", keys: ["e"], label: "Search", about: "search for more documents of this topic"}] : []),
    {name: "page", keys: ["p"], label: "As page", about: "show a document that is a page as a page, or as text"});
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
      await screen.begin();  // there is no such topic, and there are others
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
