"use strict";
/* Judging over the network. What a judge does is kept in this browser until the server has it on disk: a lost connection,
   a closed tab or a server that is started anew lose nothing, and the key of each act keeps it from being counted twice. */
(async () => {
  const {make, newKey} = startJudging;
  const root = document.getElementById("root");
  const meta = (name) => document.querySelector(`meta[name="${name}"]`).content;
  let token = meta("csrf");
  const PATIENCE = 20000;  // ms to wait for an answer
  const FIRST_TRY = 1500;  // ms until a lost connection is tried again; twice as long each time, up to
  const LAST_TRY = 20000;

  class Offline extends Error {
    constructor() { super("No connection to the server."); }
  }
  class Refused extends Error {
    constructor(status, message) { super(message); this.status = status; }
  }

  async function fetched(path, body) {
    const given = body === undefined ? {} : {method: "POST", body: JSON.stringify(body), headers: {"content-type": "application/json", "x-csrf-token": token}};
    let answer;
    try {
      answer = await fetch(path, {...given, signal: AbortSignal.timeout(PATIENCE)});
      if (answer.status >= 502 && answer.status <= 504) throw new Offline();
      const found = await answer.json();
      if (answer.ok) return found;
      throw new Refused(answer.status, found.error);
    } catch (error) {
      if (error instanceof Refused) throw error;
      throw new Offline();  // nothing came, or only a part of it
    }
  }

  async function ask(path, body) {
    try {
      return await fetched(`/api/judging${path}`, body);
    } catch (error) {
      if (error.status === 403 && body !== undefined) {  // the token may be out of date
        token = (await fetched("/api/session")).csrf;
        return fetched(`/api/judging${path}`, body);
      }
      if (error.status === 401) throw new Refused(401, "You are signed out. Sign in in another tab, then try again here: nothing is lost.");
      throw error;
    }
  }
  const where = (query, place) => `?query=${encodeId(query)}&place=${place || 0}`;

  // Ids may have bytes that are no UTF-8; they come as single surrogates, and go back as those bytes.
  function encodeId(text) {
    return [...text].map((char) => {
      const code = char.codePointAt(0);
      return code >= 0xdc80 && code <= 0xdcff ? `%${(code - 0xdc00).toString(16).toUpperCase()}` : encodeURIComponent(char.isWellFormed && !char.isWellFormed() ? "\ufffd" : char);
    }).join("");
  }

  const about = await ask("").catch((error) => { root.replaceChildren(make("p", {class: "opening"}, error.message)); throw error; });

  // What was done and is not yet confirmed, in its order

  const prefix = `cranfield-waiting:${about.assessor}:`;
  const loose = new Map();  // where this browser keeps nothing
  let number = Date.now();

  function waiting() {
    const names = [...loose.keys()];
    try {
      for (let i = 0; i < localStorage.length; i += 1) if (localStorage.key(i).startsWith(prefix)) names.push(localStorage.key(i));
    } catch { /* not allowed here */ }
    return names.sort();
  }
  function put(path, body) {
    number = Math.max(number + 1, Date.now());
    const name = `${prefix}${String(number).padStart(16, "0")}:${body.key}`;
    try { localStorage.setItem(name, JSON.stringify({path, body})); } catch { loose.set(name, {path, body}); }
    return name;
  }
  function take(name) {
    if (loose.has(name)) return loose.get(name);
    try { return JSON.parse(localStorage.getItem(name)); } catch { return null; }
  }
  function drop(name) {
    loose.delete(name);
    try { localStorage.removeItem(name); } catch { /* was never there */ }
  }

  let sending = Promise.resolve();
  // Send everything that waits, oldest first; what the last one was answered.
  function flush() {
    const run = async () => {
      let answer = null;
      for (const name of waiting()) {
        const act = take(name);
        if (act === null) { drop(name); continue; }
        try {
          answer = await ask(act.path, act.body);
        } catch (error) {
          // what waits for the connection, or for somebody to sign in, goes on waiting; what was refused is told, and gone
          if (error instanceof Refused && error.status !== 401) drop(name);
          throw error;
        }
        drop(name);
      }
      return answer;
    };
    sending = sending.then(run, run);
    return sending;
  }

  let pause = FIRST_TRY;
  let timer = null;
  let screen = null;
  let isLost = false;

  function lost() {
    isLost = true;
    const n = waiting().length;
    screen.say(`No connection. ${n === 1 ? "1 act waits" : `${n} acts wait`} in this browser and will be sent when it is back.`, true);
    clearTimeout(timer);
    timer = setTimeout(retry, pause);
    pause = Math.min(pause * 2, LAST_TRY);
  }
  async function retry() {
    const n = waiting().length;
    try {
      await flush();
      const back = isLost;
      isLost = false;
      pause = FIRST_TRY;
      if (!back) return;
      await screen.open(here ? here.query : null);
      screen.say(`The connection is back; everything is saved${n ? ` (${n})` : ""}.`);
    } catch (error) {
      if (error instanceof Offline) lost();
      else screen.say(error.message, true);
    }
  }
  window.addEventListener("online", () => { if (isLost) { clearTimeout(timer); retry(); } });
  window.addEventListener("beforeunload", (event) => { if (loose.size) { event.preventDefault(); event.returnValue = ""; } });

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

  async function send(path, body, offline) {
    put(path, body);
    try {
      const answer = await flush();
      isLost = false;
      pause = FIRST_TRY;
      return answer;
    } catch (error) {
      if (!(error instanceof Offline)) throw error;
      const found = offline();
      lost();
      return found;
    }
  }

  const store = {
    topics: async () => (await ask("/topics")).topics,
    next: async (query) => arrived((await ask("/next", {query})).item),
    seen: async (query) => (await ask(`/seen?query=${encodeId(query)}`)).places,
    at: async (query, place) => arrived((await ask(`/item${where(query, place)}`)).item),
    after: async (query) => (await ask(`/after?query=${encodeId(query)}`)).query,
    save: async (act) => {
      const saved = await send("/save", act, () => {
        const found = act.kind === "note" ? null : next.shift() || null;
        if (found) {
          const rest = next;
          past.push(here);
          here = {...found, left: Math.max(0, here.left - (act.kind === "skip" ? 0 : 1))};
          next = rest;
        }
        return {waiting: true, next: found ? here : null, left: here.left};
      });
      if (!saved.waiting && act.kind !== "note") arrived(saved.next);
      return saved;
    },
    undo: async (act) => {
      const answer = await send("/undo", act, () => ({waiting: true, item: past.pop() || null}));
      if (answer.waiting) { here = answer.item || here; next = []; return answer.item; }
      return arrived(answer.item);
    },
  };

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
            make("button", {type: "button", class: "plain", onclick: () => take(one.doc)}, one.title || one.doc),
            make("p", {class: "quiet"}, one.beginning)),
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
  const more = [{label: meta("role") === "coordinator" ? "Workbench" : "Account", act: () => { location.href = meta("role") === "coordinator" ? "/progress" : "/account"; }}];

  screen = startJudging(root, store, {
    grades: about.grades, actions, guidelines: about.guidelines, more, extra: {search: openSearch},
    frame: (item) => `/judge/document${where(item.query, item.place)}`,
  });
  try { await flush(); } catch (error) { screen.say(error.message, true); }
  try {
    await screen.begin(new URLSearchParams(location.search).get("query"));
  } catch (error) {
    screen.say(error.message, true);
  }
})();
