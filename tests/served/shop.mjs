// A small shop in Node: `node shop.mjs PORT FILE`. Plain `http`, `crypto` and `fetch`, no packages.
// It takes a base URL and keeps its orders in a file. `/test/…` is for the adapter of the tests. The time and its
// pauses are those of the service's clock, at `clock_url`.

import { createHash, createHmac, timingSafeEqual } from "node:crypto";
import { existsSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { createServer } from "node:http";

const [port, file] = [Number(process.argv[2]), process.argv[3]];
const KEY_SECONDS = 23 * 3600;
const ENDED = new Set(["failed", "cancelled"]);
const RANK = { created: 0, needs_response: 0, pending: 1, under_review: 1, processing: 2 };
for (const status of ["succeeded", "failed", "cancelled", "won", "lost", "accepted"]) RANK[status] = 3;
const KEPT = { config: {}, orders: {}, seen: [] };
let { config, orders, seen } = existsSync(file) ? JSON.parse(readFileSync(file)) : KEPT;
const paying = new Set();

class Unknown extends Error {}

function save() {
  writeFileSync(`${file}.new`, JSON.stringify({ config, orders, seen }));
  renameSync(`${file}.new`, file);
}

// The service

async function now() {
  const answer = await fetch(config.clock_url);
  return Date.parse((await answer.json()).now) / 1000;
}

async function sleep(seconds) {
  const body = JSON.stringify({ by: `${Math.floor(seconds * 1000)}ms` });
  await fetch(`${config.clock_url}/advance`, { method: "POST", headers: { "Content-Type": "application/json" }, body });
}

// Returns the data of an answer, or null when the request was refused for good.
async function call(path, key, body) {
  const credentials = Buffer.from(`${config.key}:${config.secret}`).toString("base64");
  const headers = { Authorization: `Basic ${credentials}`, "Content-Type": "application/json" };
  if (key) headers["Idempotency-Key"] = key;
  for (let attempt = 0; attempt < 5; attempt += 1) {
    if (attempt) await sleep(2 ** (attempt - 1));
    if (config.mistake === "new key" && key) headers["Idempotency-Key"] = newKey(key, attempt);
    let answer, text;
    try {
      const options = { method: body ? "POST" : "GET", headers, body, redirect: "manual" };
      answer = await fetch(config.url + path, { ...options, signal: AbortSignal.timeout(config.timeout * 1000) });
      text = await answer.text();
    } catch {
      continue;
    }
    if (answer.status === 429) {
      await sleep(await pause(Number(answer.headers.get("X-RateLimit-Reset") || NaN)));
    } else if (answer.status === 400 || answer.status === 422) {
      return null;
    } else if (answer.status === 200 || answer.status === 201) {
      try {
        return JSON.parse(text).data;
      } catch {
        throw new Unknown();
      }
    } else if (answer.status < 500) {
      break;
    }
  }
  throw new Unknown();
}

async function pause(reset) {
  if (Number.isNaN(reset)) return 1;
  const wait = reset > 1e11 ? reset / 1000 - (await now()) : reset > 1e8 ? reset - (await now()) : reset;
  return Math.min(Math.max(wait + 1, 1), 300);
}

// The same for the same purpose, so that a play can be repeated.
function newKey(purpose, attempt) {
  const hex = createHash("sha256").update(`${purpose} ${attempt}`).digest("hex");
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-4${hex.slice(13, 16)}-8${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}

// Orders

const objects = (order, kind) => Object.values(order.objects).filter((each) => each.kind === kind);

function statusOf(order) {
  const payIns = objects(order, "pay-in");
  const paid = payIns.filter((each) => each.status === "succeeded");
  if (paid.length) {
    const came = paid.reduce((sum, each) => sum + Number(each.amount), 0);
    const isRight = came === Number(order.amount) && paid.every((each) => each.currency === order.currency);
    if (!isRight) return "review";
    const isLost = objects(order, "dispute").some((each) => ["lost", "accepted"].includes(each.status));
    return isLost ? "charged_back" : "paid";
  }
  if (payIns.some((each) => !ENDED.has(each.status))) return "pending";
  if (payIns.length) return payIns.at(-1).status;
  return order.refused ? "failed" : "unpaid";
}

function isOlder(old, shown) {
  if (old.updated_at !== shown.updated_at) return old.updated_at < shown.updated_at;
  return RANK[old.status] < RANK[shown.status];
}

function learn(order, kind, shown) {
  if (!(shown.status in RANK)) return;
  const old = order.objects[shown.id];
  if (!old || isOlder(old, shown)) {
    const { status, amount, currency, updated_at } = shown;
    order.objects[shown.id] = { kind, status, amount, currency, updated_at };
  }
  if (statusOf(order) === "paid" && !order.shipped) order.shipped = 1;
  save();
}

// Returns whether one of an order's payments is, or may be, under way or paid.
async function lookUp(order) {
  try {
    const found = (await call(`/pay-in?external_identifier=${order.id}&limit=100`)).items;
    for (const each of [...found].reverse()) {
      order.pay_in = each.id;
      learn(order, "pay-in", each);
      if (each.status !== "succeeded") continue;
      for (const dispute of (await call(`/dispute?payin_id=${each.id}&limit=100`)).items) {
        const old = order.objects[dispute.id];
        if (old && old.updated_at === dispute.updated_at) old.updated_at = ""; // the service knows best
        learn(order, "dispute", dispute);
      }
    }
    return found.some((each) => !ENDED.has(each.status));
  } catch (error) {
    if (error instanceof Unknown || error instanceof TypeError) return true;
    throw error;
  }
}

const isOld = async (order) => Boolean(order.key) && (await now()) - order.tried_at > KEY_SECONDS;

async function begin(order) {
  const made = order.objects[order.pay_in];
  const isOver = order.refused || (made && ENDED.has(made.status)) || (await isOld(order));
  if (order.key && !isOver) return;
  order.attempt += 1;
  const body = JSON.stringify({
    currency: order.currency,
    external_identifier: order.id,
    payment_method: { type: "CREDIT_CARD" },
    customer: { first_name: "Ada", last_name: "Lovelace", email: "ada@example.test" },
  });
  Object.assign(order, {
    key: newKey(order.id, order.attempt),
    body: `${body.slice(0, -1)},"amount":${order.amount}}`,
    tried_at: await now(),
    pay_in: "",
    refused: 0,
  });
  save();
}

async function send(order) {
  await begin(order);
  const key = order.key;
  let made;
  try {
    made = await call("/pay-in/deposit-creation", key, order.body);
  } catch (error) {
    if (!(error instanceof Unknown)) throw error;
    await lookUp(order);
    return;
  }
  if (made) {
    order.pay_in = made.id;
    learn(order, "pay-in", made);
  } else if (!(await lookUp(order)) && order.key === key) {
    order.refused = 1;
    save();
  }
}

async function pay(order) {
  if (paying.has(order.id) || !["unpaid", ...ENDED].includes(statusOf(order))) return;
  paying.add(order.id);
  try {
    if (!((await isOld(order)) && (await lookUp(order)))) await send(order);
  } finally {
    paying.delete(order.id);
  }
}

async function reconcile() {
  for (const order of Object.values(orders)) {
    if (!order.key || (await lookUp(order)) || order.refused || objects(order, "pay-in").length) continue;
    await send(order);
  }
}

// Webhooks

async function isSigned(header, body) {
  const parts = header.split(",").map((part) => part.split("="));
  const at = parts.find(([name]) => name === "t")?.[1] ?? "";
  if (!/^[0-9]+$/.test(at) || Math.abs((await now()) - Number(at)) > 300) return false;
  const expected = createHmac("sha256", config.webhook_secret).update(`${at}.`).update(body).digest("hex");
  const isIt = (digest) => digest.length === expected.length && timingSafeEqual(bytes(digest), bytes(expected));
  return parts.some(([name, digest = ""]) => name === "v1" && isIt(digest));
}

const bytes = (text) => Buffer.from(text, "latin1");

async function receive(header, body) {
  if (config.mistake !== "believes everybody" && !(await isSigned(header, body))) return 401;
  let event, shown;
  try {
    event = JSON.parse(body);
    shown = event.data.object;
    if (typeof event.id !== "string" || typeof event.type !== "string" || !shown.id) return 400;
  } catch {
    return 400;
  }
  if (seen.includes(event.id) || event.livemode !== false || !("status" in shown)) return 200;
  const kind = event.type.split(".")[0];
  const belongs = { "pay-in": (order) => order.id === shown.external_identifier, dispute: (order) => shown.payin_id in order.objects };
  const order = Object.values(orders).find(belongs[kind] ?? (() => false));
  if (order) {
    seen.push(event.id);
    learn(order, kind, shown);
  }
  return 200;
}

// The shop's own HTTP

const routes = {
  "POST /test/reset": (_, body) => {
    [orders, seen, config] = [{}, [], JSON.parse(body)];
    paying.clear();
    save();
  },
  "POST /test/orders": (_, body) => {
    const order = JSON.parse(body);
    const empty = { key: "", body: "", pay_in: "", attempt: 0, tried_at: 0, refused: 0, shipped: 0, objects: {} };
    orders[order.id] = { ...order, ...empty };
    save();
  },
  "POST /test/tick": reconcile,
  "POST /pay": (order) => pay(order),
  "POST /return": (order) => lookUp(order),
  "GET /orders": (order) => ({ status: statusOf(order), shipped: order.shipped }),
};

async function answer(request, body) {
  if (request.url === "/webhooks") return [await receive(request.headers["x-service-signature"] ?? "", body), null];
  const [, first, id, act] = request.url.split("/");
  const name = first === "orders" ? `${request.method} /${act ?? "orders"}` : `${request.method} ${request.url}`;
  return [200, await routes[name](orders[id], body)];
}

createServer(async (request, response) => {
  const pieces = [];
  for await (const piece of request) pieces.push(piece);
  const [status, shown] = await answer(request, Buffer.concat(pieces)).catch((error) => [500, String(error.stack)]);
  response.writeHead(status).end(JSON.stringify(shown ?? null));
}).listen(port, "127.0.0.1");
