"use strict";
/* Shared by all pages. Pages work without it unless they say otherwise. */

// Sortable tables: <table data-sort>; data-value of a cell is its sort key.
const sorted = new Map();  // table id -> [column, isDown]

function makeSortable(table) {
  const heads = [...table.tHead.rows[table.tHead.rows.length - 1].cells];
  const sort = (column, isDown) => {
    heads.forEach((other) => other.removeAttribute("aria-sort"));
    heads[column].setAttribute("aria-sort", isDown ? "descending" : "ascending");
    sortRows(table, column, isDown ? -1 : 1);
    if (table.id) sorted.set(table.id, [column, isDown]);
  };
  heads.forEach((head, column) => {
    if (head.hasAttribute("data-fixed") || !head.textContent.trim() || head.querySelector("a, button")) return;
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const now = head.getAttribute("aria-sort");
      sort(column, now ? now === "ascending" : head.classList.contains("figure"));
    });
  });
  if (sorted.has(table.id)) sort(...sorted.get(table.id));
}
document.querySelectorAll("table[data-sort]").forEach(makeSortable);

function sortRows(table, column, sign) {
  const key = (row) => {
    const cell = row.cells[column];
    const text = cell ? (cell.dataset.value ?? cell.textContent.trim()) : "";
    const number = Number(text.replace(/,/g, "").replace(/\s*%$/, ""));
    return text === "" || text === "–" ? null : Number.isNaN(number) ? text : number;
  };
  for (const body of table.tBodies) {
    const rows = [...body.rows].map((row) => [key(row), row]);
    rows.sort(([a], [b]) => {
      if (a === null || b === null) return (a === null) - (b === null);  // missing values stay at the end
      if (typeof a === "number" && typeof b === "number") return sign * (a - b);
      return sign * String(a).localeCompare(String(b), "en", {numeric: true});
    });
    body.append(...rows.map(([, row]) => row));
  }
}

// Filters: <input type="search" data-filter="id of a table">
for (const input of document.querySelectorAll("input[data-filter]")) {
  const table = document.getElementById(input.dataset.filter);
  input.addEventListener("input", () => {
    const words = input.value.toLowerCase().split(/\s+/).filter(Boolean);
    for (const body of table.tBodies) {
      for (const row of body.rows) row.hidden = !words.every((word) => row.textContent.toLowerCase().includes(word));
    }
  });
}

// Forms with a confirmation: <form data-confirm="Really?">; forms that are submitted on every change: data-auto
for (const form of document.querySelectorAll("form[data-confirm]")) {
  form.addEventListener("submit", (event) => { if (!window.confirm(form.dataset.confirm)) event.preventDefault(); });
}
for (const form of document.querySelectorAll("form[data-auto]")) {
  form.addEventListener("change", () => form.requestSubmit());
}

// Live parts: <div id=… data-live="10"> is fetched every 10 seconds while the page is visible.
const live = [...document.querySelectorAll("[data-live]")];
if (live.length) {
  const every = Math.min(...live.map((part) => Number(part.dataset.live))) * 1000;
  setInterval(async () => {
    const focused = document.activeElement;
    const head = focused.closest("th");
    const isBusy = live.some((part) => part.contains(focused)) && !head;
    if (document.visibilityState !== "visible" || isBusy) return;
    try {
      const answer = await fetch(location.href, {headers: {accept: "text/html"}});
      if (!answer.ok || answer.redirected) return;
      const page = new DOMParser().parseFromString(await answer.text(), "text/html");
      for (const part of live) {
        const fresh = page.getElementById(part.id);
        if (fresh) part.replaceChildren(...fresh.childNodes);
        part.querySelectorAll("table[data-sort]").forEach(makeSortable);
      }
      if (head && head.closest("table").id && !document.body.contains(head)) {
        const table = document.getElementById(head.closest("table").id);
        if (table) table.tHead.rows[table.tHead.rows.length - 1].cells[head.cellIndex].querySelector("button")?.focus();
      }
    } catch { /* no connection: try again next time */ }
  }, every);
}
