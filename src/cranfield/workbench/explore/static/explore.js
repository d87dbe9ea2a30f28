"use strict";
/* Sorting, filtering and paging without reloading the whole page. The same links and forms work without this script: the
   URL has the state either way, and Back works. */

const place = document.getElementById("content");
const said = document.getElementById("said");
let here = location.pathname + location.search;
let last = null;
let again = 0;

async function go(url, how) {
  const target = new URL(url, location.href);
  clearTimeout(again);
  if (last) last.abort();
  last = new AbortController();
  place.setAttribute("aria-busy", "true");
  let answer, text;
  try {
    answer = await fetch(target, {headers: {accept: "text/html"}, signal: last.signal});
    text = await answer.text();
  } catch (error) {
    if (error.name !== "AbortError") location.assign(target);
    return;
  }
  if (answer.status === 202 || !(answer.headers.get("content-type") || "").startsWith("text/html")) {
    location.assign(target);
    return;
  }
  const page = new DOMParser().parseFromString(text, "text/html");
  const fresh = page.getElementById("content");
  if (!fresh) { location.assign(target); return; }
  const came = new URL(answer.url);
  came.hash = target.hash;
  const focus = document.activeElement && place.contains(document.activeElement) ? document.activeElement : null;
  const caret = focus && focus.type === "search" ? focus.selectionStart : null;
  const typed = caret === null ? null : focus.value;
  place.replaceChildren(...fresh.childNodes);
  place.removeAttribute("aria-busy");
  document.title = page.title;
  if (how === "push") history.pushState(null, "", came);
  if (how === "replace") history.replaceState(null, "", came);
  here = came.pathname + came.search;
  scheduleReload();
  const counted = place.querySelector("[data-said]");
  if (counted) said.textContent = counted.textContent;
  const part = came.hash && document.getElementById(came.hash.slice(1));
  if (part && how === "push") { part.scrollIntoView({block: "nearest"}); part.focus({preventScroll: true}); return; }
  const same = focus && focus.id && document.getElementById(focus.id);
  if (same) {
    same.focus({preventScroll: true});
    if (typed !== null) { same.value = typed; same.setSelectionRange(caret, caret); }
  }
}

place.addEventListener("click", (event) => {
  const link = event.target.closest("a");
  if (!link || !link.href || event.defaultPrevented || event.button || event.metaKey || event.ctrlKey || event.shiftKey || event.altKey) return;
  const target = new URL(typeof link.href === "string" ? link.href : link.href.baseVal, location.href);
  if (target.origin !== location.origin || target.pathname !== location.pathname) return;
  if (target.pathname + target.search === here) return;  // a fragment of this page
  event.preventDefault();
  go(target, "push");
});

function asked(form) {
  const target = new URL(form.action, location.href);
  target.search = new URLSearchParams(new FormData(form)).toString();
  return target;
}

place.addEventListener("submit", (event) => {
  const form = event.target;
  if (form.method !== "get" || new URL(form.action, location.href).pathname !== location.pathname) return;
  event.preventDefault();
  go(asked(form), "push");
});

let soon = 0;
place.addEventListener("input", (event) => {
  if (!event.target.matches("[data-find]")) return;
  clearTimeout(soon);
  const form = event.target.form;
  soon = setTimeout(() => go(asked(form), "replace"), 200);
});

/* Pages with pending results reload themselves */
function scheduleReload() {
  clearTimeout(again);
  if (place.querySelector("[data-unfinished]")) again = setTimeout(() => go(location.href, "replace"), 1000);
}
scheduleReload();

window.addEventListener("popstate", () => {
  if (location.pathname + location.search !== here) go(location.href, "");
});
