"use strict";
// Files are sent to the server unchanged.
const form = document.getElementById("import");
const said = document.getElementById("said");
const what = document.getElementById("what");
const only = [document.getElementById("assessor").closest(".field")];
what.addEventListener("change", () => { for (const part of only) part.hidden = what.value !== "import"; });
form.addEventListener("submit", async (event) => {
  event.preventDefault();
  const file = document.getElementById("file").files[0];
  if (!file) return;
  const asked = new URLSearchParams();
  if (what.value === "import") {
    const assessor = document.getElementById("assessor").value.trim();
    if (assessor) asked.set("assessor", assessor);
    if (document.getElementById("model").checked) asked.set("model", "1");
    if (document.getElementById("decisions").checked) asked.set("decisions", "1");
  }
  said.className = "";
  said.textContent = "Sending …";
  try {
    const answer = await fetch(`/api/judgments/${what.value}?${asked}`, {method: "POST", body: file, headers: {"content-type": "application/octet-stream", "x-csrf-token": document.querySelector('meta[name="csrf"]').content}});
    const found = await answer.json();
    said.textContent = answer.ok ? `${file.name}: ${found.said}` : found.error;
    said.className = answer.ok ? "note" : "note wrong";
  } catch {
    said.textContent = "No connection to the server: the file may not have been imported. Importing a file twice does no harm.";
    said.className = "note wrong";
  }
});
