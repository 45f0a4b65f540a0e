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
    await navigator.clipboard.writeText(button.dataset.copy);
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

// A filter applies as soon as it is chosen.
document.addEventListener("change", (event) => {
  if (event.target.matches("form.search select")) event.target.form.requestSubmit();
});

offerCopies(document);
document.addEventListener("htmx:after:swap", () => offerCopies(document));
