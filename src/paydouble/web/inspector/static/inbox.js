// Rows of the inbox that arrive by themselves.
//
// What arrives is first merged into the changes that the page still has to make, at most one for each row, and as many
// as the list can show. Each frame makes some of them, so a list that is sent as a whole does not stop the page; a
// paused page makes none.
"use strict";

(() => {
  const MOST_AT_ONCE = 50; // rows that one frame makes
  const MOST_MARKED = 20; // new rows that are marked for a moment; more would only flicker

  const rows = document.getElementById("rows");
  const table = rows.querySelector("table");
  const body = table.tBodies[0];
  const empty = rows.querySelector(".empty");
  const status = document.getElementById("live");
  const notice = document.getElementById("notice");
  const button = document.getElementById("pause");
  const most = Number(rows.dataset.most);
  const shown = new Map([...body.rows].map((row) => [row.dataset.key, row])); // by key
  const changed = new Map(); // by key: what the stream sent of a row that is new or has changed, oldest first
  const gone = new Set(); // the keys of shown rows that are to be removed
  let paused = false;
  let frame = 0; // the frame that makes changes, if one was asked for

  function made(html) {
    const template = document.createElement("template");
    template.innerHTML = html;
    return template.content.querySelector("tr");
  }

  // The first row that did not arrive later; the rows are sorted, the newest first.
  function place(order) {
    let [low, high] = [0, body.rows.length];
    while (low < high) {
      const middle = (low + high) >> 1;
      if (Number(body.rows[middle].dataset.order) > order) low = middle + 1;
      else high = middle;
    }
    return body.rows[low] ?? null;
  }

  function put([key, order, html], marked) {
    const row = made(html);
    const old = shown.get(key);
    shown.set(key, row);
    if (old) {
      const focused = old.contains(document.activeElement);
      const current = old.getAttribute("aria-current");
      if (current) row.setAttribute("aria-current", current);
      old.replaceWith(row);
      if (focused) row.querySelector("a.open, .open")?.focus();
      return;
    }
    if (marked) row.classList.add("new");
    body.insertBefore(row, place(order));
  }

  function remove(key) {
    shown.get(key)?.remove();
    shown.delete(key);
  }

  function drop(key) {
    changed.delete(key);
    if (shown.has(key)) gone.add(key);
  }

  function merge(message) {
    const fresh = message.rows ?? [];
    const deleted = new Set(message.deleted);
    if (message.whole) {
      for (const key of [...changed.keys(), ...shown.keys()]) drop(key);
    } else if (deleted.size) {
      for (const key of [...changed.keys(), ...shown.keys()]) {
        if (deleted.has(key.slice(0, key.lastIndexOf("/")))) drop(key);
      }
    }
    for (const key of message.gone ?? []) drop(key);
    for (const row of fresh) {
      const [key] = row;
      changed.set(key, row); // it keeps its turn: of rows of one millisecond the later one goes above
      gone.delete(key);
    }
    if (changed.size > most) {
      const oldest = [...changed.values()].sort((one, other) => one[1] - other[1]).slice(0, changed.size - most);
      for (const [key] of oldest) drop(key);
    }
  }

  function apply() {
    frame = 0;
    if (paused) return;
    for (const key of gone) remove(key);
    gone.clear();
    const marked = changed.size <= MOST_MARKED;
    for (const row of [...changed.values()].slice(0, MOST_AT_ONCE)) {
      changed.delete(row[0]);
      put(row, marked);
    }
    while (body.rows.length > most) remove(body.lastElementChild.dataset.key);
    table.hidden = body.rows.length === 0;
    empty.hidden = body.rows.length !== 0;
    if (changed.size) plan();
  }

  function plan() {
    if (!paused) frame ||= requestAnimationFrame(apply);
  }

  function offer(names) {
    const select = document.getElementById("sandbox");
    const chosen = select.value;
    const offered = [...select.options].slice(1).map((option) => option.value);
    if (offered.length === names.length && offered.every((name, at) => name === names[at])) return;
    while (select.options.length > 1) select.remove(1);
    for (const name of names) select.add(new Option(name, name, false, name === chosen));
    if (chosen && !names.includes(chosen)) select.add(new Option(chosen, chosen, true, true));
  }

  function label() {
    const fresh = [...changed.keys()].filter((key) => !shown.has(key)).length;
    button.textContent = paused ? `Resume${fresh ? ` · ${fresh} new` : ""}` : "Pause";
    button.setAttribute("aria-pressed", String(paused));
  }

  function take(message) {
    if (message.restarted) {
      notice.textContent = "The server was started again. What it had before is gone.";
      notice.hidden = false;
    }
    if (message.sandboxes) offer(message.sandboxes);
    merge(message);
    if (paused) label();
    plan();
  }

  button.addEventListener("click", () => {
    paused = !paused;
    label();
    plan();
  });

  button.hidden = false;
  follow(rows.dataset.stream, "rows", {
    position: rows.dataset.position,
    take,
    say: (text) => { status.textContent = text; },
  });
})();
