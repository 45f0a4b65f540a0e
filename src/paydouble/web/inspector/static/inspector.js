// What every page of the inspector does in the browser. There is no inline script: the policy of the pages forbids it.
"use strict";

// Copy buttons work only where the browser allows it: at https, and at localhost.
function offerCopies(root) {
  if (!navigator.clipboard) return;
  for (const button of root.querySelectorAll("button.copy[hidden]")) button.hidden = false;
}

document.addEventListener("click", async (event) => {
  const button = event.target.closest("button.copy");
  if (!button) return;
  try {
    const source = document.getElementById(button.dataset.from);
    await navigator.clipboard.writeText(source ? source.textContent : button.dataset.copy);
    button.textContent = "copied";
  } catch {
    button.textContent = "not allowed";
  }
  setTimeout(() => { button.textContent = "copy"; }, 1500);
});

// Times that are due count down once a second.
function remaining(seconds) {
  if (seconds <= 0) return "now";
  const whole = Math.ceil(seconds);
  const parts = [[86400, "d"], [3600, "h"], [60, "min"], [1, "s"]];
  const first = parts.findIndex(([size]) => whole >= size);
  const shown = [];
  let left = whole;
  for (const [size, name] of parts.slice(first, first + 2)) {
    if (left >= size) shown.push(`${Math.floor(left / size)} ${name}`);
    left %= size;
  }
  return `in ${shown.join(" ")}`;
}

const began = new WeakMap();
setInterval(() => {
  for (const time of document.querySelectorAll("time.due[data-seconds]")) {
    if (!began.has(time)) began.set(time, performance.now());
    const left = Number(time.dataset.seconds) - (performance.now() - began.get(time)) / 1000;
    const text = remaining(left);
    if (time.textContent !== text) time.textContent = text;
  }
}, 1000);

// A row opens with a click anywhere in it, as with one on its link.
function openRow(event) {
  const link = event.target.closest("table.inbox tbody tr")?.querySelector("a.open");
  if (!link || event.button > 1 || event.target.closest("a, button, input, select, summary, label")) return;
  if (!getSelection().isCollapsed) return; // somebody selects a text to copy it
  if (event.button === 1 || event.ctrlKey || event.metaKey || event.shiftKey) window.open(link.href, "_blank", "noopener");
  else link.click();
}

document.addEventListener("click", openRow);
document.addEventListener("auxclick", openRow);

// A filter applies as soon as it is chosen.
document.addEventListener("change", (event) => {
  if (event.target.matches("form.search select")) event.target.form.requestSubmit();
});

// Keys. None works while somebody writes, or together with a modifier.
function step(by) {
  const rows = [...document.querySelectorAll("#rows tbody tr")];
  if (!rows.length) return;
  const at = rows.findIndex((row) => row.contains(document.activeElement));
  const next = rows[at < 0 ? 0 : Math.min(Math.max(at + by, 0), rows.length - 1)];
  const target = next.querySelector(".open");
  target.focus();
  next.scrollIntoView({ block: "nearest" });
}

const keys = {
  "/": () => document.getElementById("q")?.select(),
  j: () => step(1),
  k: () => step(-1),
  p: () => document.getElementById("pause")?.click(),
  h: () => document.querySelector("a.brand").click(),
  "?": () => document.getElementById("keys").showModal(),
};

document.addEventListener("keydown", (event) => {
  if (event.ctrlKey || event.altKey || event.metaKey || event.defaultPrevented) return;
  if (event.target.matches("input, select, textarea") || document.querySelector("dialog[open]")) return;
  const act = Object.hasOwn(keys, event.key) ? keys[event.key] : null;
  if (!act) return;
  event.preventDefault();
  act();
});

const help = document.getElementById("show-keys");
help.hidden = false;
help.addEventListener("click", keys["?"]);

offerCopies(document);
document.addEventListener("htmx:after:swap", () => offerCopies(document));
