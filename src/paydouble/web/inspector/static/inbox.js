// Rows of the inbox that arrive by themselves.
"use strict";

(() => {
  const rows = document.getElementById("rows");
  const table = rows.querySelector("table");
  const body = table.tBodies[0];
  const empty = rows.querySelector(".empty");
  const status = document.getElementById("live");
  const notice = document.getElementById("notice");
  const button = document.getElementById("pause");
  const most = Number(rows.dataset.most);
  let paused = false;
  let stale = false; // more came than is worth keeping; the page is loaded anew
  let kept = []; // messages that came while the page was paused
  let waiting = new Set(); // the keys of new rows among them

  function find(key) {
    return body.querySelector(`tr[data-key="${CSS.escape(key)}"]`);
  }

  function made(html) {
    const template = document.createElement("template");
    template.innerHTML = html;
    return template.content.querySelector("tr");
  }

  function put([key, order, html]) {
    const row = made(html);
    const old = find(key);
    if (old) {
      const focused = old.contains(document.activeElement);
      const current = old.getAttribute("aria-current");
      if (current) row.setAttribute("aria-current", current);
      old.replaceWith(row);
      if (focused) row.querySelector("a.open, .open")?.focus();
      return;
    }
    row.classList.add("new");
    // Nearly always the newest row, so the place is at the top.
    let next = body.firstElementChild;
    while (next && Number(next.dataset.order) > order) next = next.nextElementSibling;
    body.insertBefore(row, next);
  }

  function remove(selector) {
    for (const row of body.querySelectorAll(selector)) row.remove();
  }

  function apply(message) {
    for (const sandbox of message.deleted ?? []) remove(`tr[data-sandbox="${CSS.escape(sandbox)}"]`);
    for (const key of message.gone ?? []) find(key)?.remove();
    if (message.whole) {
      const fresh = new Set(message.rows.map(([key]) => key));
      for (const row of [...body.rows]) if (!fresh.has(row.dataset.key)) row.remove();
    }
    for (const row of message.rows ?? []) put(row);
    while (body.rows.length > most) body.lastElementChild.remove();
    table.hidden = body.rows.length === 0;
    empty.hidden = body.rows.length !== 0;
  }

  function offer(names) {
    const select = document.getElementById("sandbox");
    const chosen = select.value;
    const shown = [...select.options].slice(1).map((option) => option.value);
    if (shown.length === names.length && shown.every((name, at) => name === names[at])) return;
    while (select.options.length > 1) select.remove(1);
    for (const name of names) select.add(new Option(name, name, false, name === chosen));
    if (chosen && !names.includes(chosen)) select.add(new Option(chosen, chosen, true, true));
  }

  function label() {
    const news = waiting.size ? ` · ${waiting.size} new` : "";
    button.textContent = paused ? `Resume${news}` : "Pause";
    button.setAttribute("aria-pressed", String(paused));
  }

  function take(message) {
    if (message.restarted) {
      notice.textContent = "The server was started again. What it had before is gone.";
      notice.hidden = false;
    }
    if (message.sandboxes) offer(message.sandboxes);
    if (!paused) {
      apply(message);
      return;
    }
    if (message.whole) kept = [];
    kept.push(message);
    if (kept.length > most) stale = true;
    if (stale) kept = [];
    for (const [key] of message.rows ?? []) if (!find(key)) waiting.add(key);
    if (waiting.size > most) waiting = new Set([...waiting].slice(-most));
    label();
  }

  button.addEventListener("click", () => {
    paused = !paused;
    if (!paused && stale) {
      location.reload();
      return;
    }
    if (!paused) {
      kept.forEach(apply);
      kept = [];
      waiting.clear();
    }
    label();
  });

  button.hidden = false;
  follow(rows.dataset.stream, "rows", {
    position: rows.dataset.position,
    take,
    say: (text) => { status.textContent = text; },
  });
})();
