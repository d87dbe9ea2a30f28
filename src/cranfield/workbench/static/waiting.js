"use strict";
/* Actions that the server has not confirmed, stored in this browser. Each action has its own name, so tabs never overwrite
   each other. The name contains the log and the assessor, so nothing goes to another log or counts for someone else.

   keepActs(log, assessor) -> {
     add(path, body, title) -> the name of a new waiting action
     waiting(), refused()   -> actions of this log and assessor, in order, [{name, log, path, body, title, error}]
     elsewhere()            -> actions of this assessor for other logs
     take(name)             -> one action, or null
     refuse(name, error)    keeps an action without sending it again
     drop(name)
     isLoose()              -> whether some would be lost if this tab closes
   } */
const keepActs = (log, assessor) => {
  const ROOT = "cranfield-act:";
  const loose = new Map();  // if this browser has no storage
  let last = 0;

  function names() {
    const found = [...loose.keys()];
    try {
      for (let i = 0; i < localStorage.length; i += 1) {
        const name = localStorage.key(i);
        if (name.startsWith(ROOT) && !loose.has(name)) found.push(name);
      }
    } catch { /* not allowed here */ }
    return found;
  }
  function take(name) {
    try {
      const [of, who, number] = JSON.parse(name.slice(ROOT.length));
      const kept = loose.get(name) || JSON.parse(localStorage.getItem(name));
      return kept && {...kept, name, log: of, assessor: who, number};
    } catch {
      return null;  // not ours
    }
  }
  function write(name, act) {
    loose.delete(name);
    try { localStorage.setItem(name, JSON.stringify(act)); } catch { loose.set(name, act); }
  }
  function mine() {
    const found = names().map(take).filter((act) => act !== null && act.assessor === assessor);
    return found.sort((one, other) => one.number - other.number || (one.name < other.name ? -1 : 1));
  }
  const here = () => mine().filter((act) => act.log === log);

  return {
    add(path, body, title) {
      last = Math.max(last + 1, Date.now());
      const name = `${ROOT}${JSON.stringify([log, assessor, last, body.key])}`;
      write(name, {path, body, title});
      return name;
    },
    waiting: () => here().filter((act) => !act.error),
    refused: () => here().filter((act) => act.error),
    elsewhere: () => mine().filter((act) => act.log !== log),
    take,
    refuse(name, error) {
      const act = take(name);
      if (act) write(name, {path: act.path, body: act.body, title: act.title, error});
    },
    drop(name) {
      loose.delete(name);
      try { localStorage.removeItem(name); } catch { /* was never there */ }
    },
    isLoose: () => loose.size > 0,
  };
};
