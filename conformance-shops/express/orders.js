// Orders, and what the payment service says about them.

import { randomUUID } from "node:crypto";
import { find, get, now, put, transaction } from "./books.js";
import { parse, text } from "./money.js";
import { call, everything } from "./payments.js";
import { mistake } from "./settings.js";

/** @typedef {import("./books.js").Row} Row */

// A status never replaces one of a higher rank, in whatever order events and reads arrive.
/** @type {Record<string, Record<string, number>>} */
const RANKS = {
  payin: { created: 0, pending: 1, processing: 2, succeeded: 3, failed: 3, cancelled: 3 },
  refund: { created: 0, processing: 1, succeeded: 2, failed: 2 },
  dispute: { needs_response: 0, under_review: 1, won: 2, lost: 2, accepted: 2 },
};
const LOST = ["lost", "accepted"];

// The service remembers a key for 24 hours; the last hour is left for retries and clocks that differ.
const KEY_MS = 23 * 3600 * 1000;

/** What the shop does not do; `status` is the HTTP status to answer. */
export class Refusal extends Error {
  constructor(/** @type {string} */ reason, status = 422) {
    super(reason);
    this.status = status;
  }
}

/** @param {unknown} amount @param {string} currency */
function exactly(amount, currency) {
  try {
    return parse(amount, currency);
  } catch (error) {
    throw new Refusal(/** @type {Error} */ (error).message);
  }
}

/** @param {string} id @param {unknown} amount @param {string} currency */
export function place(id, amount, currency) {
  const exact = text(exactly(amount, currency), currency);
  transaction(() => {
    const known = get("orders", id);
    if (known && (known.amount !== exact || known.currency !== currency)) throw new Refusal(`order ${id} exists`, 409);
    if (!known) put("orders", id, { id, amount: exact, currency, shipped: 0, mails: 0 });
  });
}

/** @param {string} id */
function orderOf(id) {
  const order = get("orders", id);
  if (!order) throw new Refusal(`there is no order ${id}`, 404);
  return order;
}

/** The sum of the order's entries, in minor units. @param {Row} order @param {string} [kind] */
const total = (order, kind) =>
  find("ledger", (entry) => entry.order === order.id && (!kind || entry.kind === kind)).reduce(
    (sum, entry) => sum + BigInt(entry.minor),
    0n,
  );

/** @param {Row} order */
const openDisputes = (order) =>
  find(
    "disputes",
    (dispute) => dispute.order === order.id && dispute.status !== "won" && !LOST.includes(dispute.status),
  );

/** @param {string} id */
const lastAttempt = (id) => find("attempts", (attempt) => attempt.order === id).at(-1);

/** @param {string} id */
export function view(id) {
  const order = orderOf(id);
  return {
    id,
    status: statusOf(order),
    shipped: order.shipped,
    paid: text(total(order), order.currency),
    currency: order.currency,
    effects: { mails: order.mails },
    disputed: openDisputes(order).length > 0,
    review: order.review ?? null,
  };
}

/** @param {Row} order */
function statusOf(order) {
  const received = total(order, "payin");
  const refunded = -total(order, "refund");
  if (received > 0n) {
    if (total(order, "dispute") < 0n) return "charged_back";
    if (refunded > 0n) return refunded >= received ? "refunded" : "partly_refunded";
    return "paid";
  }
  if (order.review) return "review";
  const last = lastAttempt(order.id);
  if (!last) return "unpaid";
  if (last.state === "refused" || last.state === "denied") return "failed";
  const status = get("payins", last.payin)?.status;
  return status === "failed" || status === "cancelled" ? status : "pending";
}

// ------------------------------------------------------------------------------------------------------------ deposits

/** The customer wants to pay: go on with the attempt there is, or begin one when the last has failed for certain.
 * @param {string} id */
export async function pay(id) {
  await refresh(id);
  const number = transaction(() => {
    const order = orderOf(id);
    const last = lastAttempt(id);
    const status = statusOf(order);
    if (mistake("new-deposit-per-click") ? ["unpaid", "failed", "cancelled", "pending"].includes(status) : false) {
      return begin(order);
    }
    if (last?.state === "open" || last?.state === "denied") {
      put("attempts", last.number, { ...last, state: "open" });
      return last.number;
    }
    return ["unpaid", "failed", "cancelled"].includes(status) ? begin(order) : undefined;
  });
  if (number) await sendDeposit(number);
  return { ...view(id), payment_url: lastAttempt(id)?.url ?? null };
}

/** Store an attempt with its key and its bytes, before they are sent. state: open (not known whether a deposit exists),
 * made, refused, denied. @param {Row} order */
function begin(order) {
  const number = `${order.id}/${find("attempts", (attempt) => attempt.order === order.id).length + 1}`;
  const body = jsonWithAmount(order.amount, {
    currency: order.currency,
    external_identifier: order.id,
    payment_method: { type: "CREDIT_CARD" },
    customer: { first_name: "Zoë", last_name: "Müller", email: "zoe@example.test" },
  });
  put("attempts", number, { number, order: order.id, key: randomUUID(), keyMade: now(), body, state: "open" });
  return number;
}

/** JSON with the amount as it is written, since JSON.stringify would make a float of it.
 * @param {string} amount @param {object} rest */
const jsonWithAmount = (amount, rest) => `{"amount": ${amount}, ${JSON.stringify(rest).slice(1)}`;

const keysInMemory = new Map(); // only for a mistake

/** The key to send. @param {Row} row */
function keyOf(row) {
  if (!mistake("key-not-stored")) return row.key;
  const name = row.number ?? row.id;
  if (!keysInMemory.has(name)) keysInMemory.set(name, randomUUID());
  return keysInMemory.get(name);
}

/** @param {string} number */
async function sendDeposit(number) {
  let attempt = get("attempts", number);
  if (attempt?.state !== "open") return;
  if (now() - attempt.keyMade >= KEY_MS) {
    // The service may have forgotten the key, and would make a second deposit. So look first.
    const found = await depositsOf(attempt.order);
    if (!found || found.length) return depositMade(number, found?.[0]);
    attempt = { ...attempt, key: randomUUID(), keyMade: now() };
    transaction(() => put("attempts", number, /** @type {Row} */ (attempt)));
  }
  const reply = await call("POST", "/pay-in/deposit-creation", { key: keyOf(attempt), body: attempt.body });
  if (reply.kind !== "ok") console.error(`order ${attempt.order}: ${reply.kind}: ${reply.reason}`);
  if (reply.kind === "ok") depositMade(number, reply.data);
  // The key was used for something else, which is our fault. A new key could make a second deposit.
  else if (reply.kind === "conflict") depositMade(number, (await depositsOf(attempt.order))?.[0]);
  // After "denied" (our own credentials or address) there is nothing for a job to repeat; the next click uses the same key.
  else if (reply.kind === "refused" || reply.kind === "denied") {
    transaction(() => {
      const row = get("attempts", number);
      if (row?.state === "open") put("attempts", number, { ...row, state: reply.kind });
    });
  }
}

/** The order's deposits at the service that belong to no other attempt; null when they cannot be read.
 * @param {string} id */
async function depositsOf(id) {
  const found = await everything("/pay-in", { external_identifier: id });
  const taken = new Set(find("attempts", (attempt) => attempt.payin).map((attempt) => attempt.payin));
  const mine = found?.filter((item) => item.external_identifier === id && !taken.has(item.id));
  return mine?.sort((a, b) => Number(b.status === "succeeded") - Number(a.status === "succeeded")) ?? null;
}

/** Note which deposit came of an attempt, if it is for the same order and money. @param {string} number @param {any} data */
function depositMade(number, data) {
  transaction(() => {
    const attempt = get("attempts", number);
    if (!attempt || !data) return;
    if (data.external_identifier !== attempt.order || !data.id || !sameMoney(data, orderOf(attempt.order))) {
      console.error(`order ${attempt.order}: the reply is about something else: ${data.id}`);
      return;
    }
    put("attempts", number, { ...attempt, state: "made", payin: data.id, url: data.payment_url });
    applyPayin(data, data.updated_at);
  });
}

/** @param {any} data @param {Row} order */
function sameMoney(data, order) {
  if (data.currency !== order.currency && !mistake("currency-not-checked")) return false;
  try {
    return text(parse(data.amount, order.currency), order.currency) === order.amount;
  } catch {
    return false;
  }
}

// ------------------------------------------------------------------------ what the service says, by an event or a read

/** Whether the status that is said to hold at a time replaces the known one; final ones are decided by the time.
 * @param {Row | undefined} known @param {string} kind @param {string} status @param {string} at */
function isNewer(known, kind, status, at) {
  if (!known) return true;
  if (mistake("times-as-text")) return at > known.at;
  const further = RANKS[kind][status] - RANKS[kind][known.status];
  if (further > 0 || (further < 0 && kind !== "dispute")) return further > 0;
  return status !== known.status && Date.parse(at) > Date.parse(known.at); // a dispute can be reopened
}

/** Take over a pay-in's status. Without an event it was read, and a read settles what events contradict.
 * @param {any} data @param {string} at @param {string} [eventId] */
export function applyPayin(data, at, eventId) {
  const known = get("payins", data.id);
  const order = get("orders", known?.order ?? data.external_identifier);
  if (!order || !(data.status in RANKS.payin)) {
    console.warn(`pay-in ${data.id} with status ${data.status} is not for us`);
    return;
  }
  const again = eventId !== undefined && mistake("effect-per-event") && data.status === "succeeded";
  const settled = known && RANKS.payin[data.status] === 3 && RANKS.payin[known.status] === 3;
  const newer = settled
    ? data.status !== known.status &&
      (eventId ? known.status !== "succeeded" && isNewer(known, "payin", data.status, at) : true)
    : isNewer(known, "payin", data.status, at);
  if (!newer && !again) return;
  put("payins", data.id, { id: data.id, order: order.id, status: data.status, at });
  const paid = data.status === "succeeded" || (mistake("processing-is-paid") && data.status === "processing");
  if (!paid) book(order, "payin", data.id, 0n);
  else if (!sameMoney(data, order)) review(order, `${data.id} brought ${data.amount} ${data.currency}`);
  else {
    book(order, "payin", again ? `${data.id} ${eventId}` : data.id, parse(order.amount, order.currency));
    if (order.shipped === 0 || again)
      put("orders", order.id, { ...order, shipped: order.shipped + 1, mails: order.mails + 1 });
  }
}

/** Set what a payment, refund or dispute comes to in the books; said twice, it is booked once.
 * @param {Row} order @param {string} kind @param {string} reference @param {bigint} minor */
function book(order, kind, reference, minor) {
  const id = `${kind} ${reference}`;
  if (minor !== 0n || get("ledger", id))
    put("ledger", id, { id, kind, reference, order: order.id, minor: String(minor) });
}

/** Ask a person to look at the order. @param {Row} order @param {string} reason */
function review(order, reason) {
  console.error(`order ${order.id}: ${reason}`);
  put("orders", order.id, { ...order, review: reason });
}

/** Take over a refund's status; it may be one that the service made without a request of ours.
 * @param {any} data @param {string} at */
export function applyRefund(data, at) {
  const order = get("orders", get("payins", data.payin_id)?.order);
  if (!order || !(data.status in RANKS.refund)) {
    console.warn(`refund ${data.id} with status ${data.status} is not for us`);
    return;
  }
  const requested = get("refunds", data.external_identifier);
  let row = find("refunds", (refund) => refund.remote === data.id)[0];
  if (!row && requested && requested.payin === data.payin_id && !requested.remote) row = requested;
  let minor;
  try {
    minor = parse(data.amount, order.currency);
  } catch {}
  if (minor === undefined || data.currency !== order.currency || (row && BigInt(row.minor) !== minor)) {
    review(order, `${data.id} returned ${data.amount} ${data.currency}`);
    return;
  }
  row ??= { id: data.id, order: order.id, payin: data.payin_id, minor: String(minor), status: "created", at: "" };
  const newer = isNewer({ ...row, at: row.at || "1970-01-01T00:00:00Z" }, "refund", data.status, at);
  put("refunds", row.id, { ...row, state: "made", remote: data.id, ...(newer && { status: data.status, at }) });
  if (mistake("refund-booked-at-request")) book(order, "refund", data.id, -minor);
  else if (newer) book(order, "refund", data.id, data.status === "succeeded" ? -minor : 0n);
}

/** Take over a dispute's status; the money is lost once, when it is decided. @param {any} data @param {string} at */
export function applyDispute(data, at) {
  const order = get("orders", get("payins", data.payin_id)?.order);
  if (!order || !(data.status in RANKS.dispute) || mistake("disputes-ignored")) {
    console.warn(`dispute ${data.id} with status ${data.status} is not for us`);
    return;
  }
  let minor;
  try {
    minor = parse(data.amount, order.currency);
  } catch {
    review(order, `${data.id} is about ${data.amount} ${data.currency}`);
    return;
  }
  if (!isNewer(get("disputes", data.id), "dispute", data.status, at)) return;
  put("disputes", data.id, { id: data.id, order: order.id, status: data.status, at });
  book(order, "dispute", data.id, LOST.includes(data.status) ? -minor : 0n);
}

// ------------------------------------------------------------------------------------------------------------- refunds

/** @param {string} id @param {string} refundId @param {unknown} amount */
export async function refund(id, refundId, amount) {
  transaction(() => {
    const order = orderOf(id);
    const minor = exactly(amount, order.currency);
    const known = get("refunds", refundId);
    if (known && (known.order !== id || BigInt(known.minor) !== minor))
      throw new Refusal(`refund ${refundId} exists`, 409);
    if (known) {
      if (known.state === "denied") put("refunds", refundId, { ...known, state: "open" });
      return;
    }
    const payin = refundable(order, minor);
    const key = (mistake("refund-key-per-order") && find("refunds", (row) => row.order === id)[0]?.key) || randomUUID();
    const body = jsonWithAmount(text(minor, order.currency), { payin_id: payin, external_identifier: refundId });
    const row = { id: refundId, order: id, payin, minor: String(minor), key, keyMade: now(), body };
    put("refunds", refundId, { ...row, state: "open", status: "created", at: "" });
  });
  await sendRefund(refundId);
  const row = get("refunds", refundId);
  if (row?.state === "refused" || row?.state === "denied") throw new Refusal("the payment service refuses the refund");
  return { ...view(id), refund: row?.status };
}

/** The pay-in from which so much can be refunded; what is requested already counts as gone.
 * @param {Row} order @param {bigint} minor */
function refundable(order, minor) {
  if (openDisputes(order).length) throw new Refusal("the payment is disputed: the money may go back that way", 409);
  for (const payin of find("payins", (row) => row.order === order.id && row.status === "succeeded")) {
    const active = find(
      "refunds",
      (row) => row.payin === payin.id && ["open", "made"].includes(row.state) && row.status !== "failed",
    );
    const gone = active.reduce((sum, row) => sum + BigInt(row.minor), 0n) - total(order, "dispute");
    if (minor <= BigInt(get("ledger", `payin ${payin.id}`)?.minor ?? 0) - gone) return payin.id;
  }
  throw new Refusal("the order has not so much paid money left");
}

/** @param {string} id */
async function sendRefund(id) {
  let row = get("refunds", id);
  if (row?.state !== "open") return;
  if (now() - row.keyMade >= KEY_MS) {
    if (!(await readRefunds(row.payin)) || get("refunds", id)?.state !== "open") return;
    row = { ...row, key: randomUUID(), keyMade: now() };
    transaction(() => put("refunds", id, /** @type {Row} */ (row)));
  }
  const reply = await call("POST", "/refund/refund-creation", { key: keyOf(row), body: row.body });
  if (reply.kind !== "ok") console.error(`refund ${id}: ${reply.kind}: ${reply.reason}`);
  if (reply.kind === "ok") transaction(() => applyRefund(reply.data, reply.data.updated_at));
  else if (reply.kind === "conflict") await readRefunds(row.payin);
  else if (reply.kind === "refused" || reply.kind === "denied") {
    transaction(() => {
      const current = get("refunds", id);
      if (current?.state === "open") put("refunds", id, { ...current, state: reply.kind });
    });
  }
}

/** @param {string} payin */
async function readRefunds(payin) {
  const found = await everything("/refund", { payin_id: payin });
  transaction(() => found?.forEach((data) => applyRefund(data, data.updated_at)));
  return found !== null;
}

// ------------------------------------------------------------------------------------------------------ reconciliation

/** Read the order's pay-ins that brought no money so far. @param {string} id */
export async function refresh(id) {
  for (const payin of find("payins", (row) => row.order === id && row.status !== "succeeded")) {
    const reply = await call("GET", `/pay-in/${payin.id}`);
    if (reply.kind === "ok" && reply.data.id === payin.id)
      transaction(() => applyPayin(reply.data, reply.data.updated_at));
  }
}

/** The payer is back, which proves nothing by itself. @param {string} id */
export async function customerReturns(id) {
  if (!mistake("trusts-return")) return refresh(id);
  transaction(() => {
    const order = orderOf(id);
    const payin = get("payins", lastAttempt(id)?.payin);
    if (!payin) return;
    book(order, "payin", payin.id, parse(order.amount, order.currency));
    if (order.shipped === 0) put("orders", id, { ...order, shipped: 1, mails: 1 });
  });
}

/** Go on with what is open, and read what an event may have failed to tell. */
export async function backgroundJobs() {
  for (const attempt of find("attempts", (row) => row.state === "open")) await sendDeposit(attempt.number);
  for (const row of find("refunds", (row) => row.state === "open")) await sendRefund(row.id);
  if (mistake("no-reconciliation")) return;
  for (const attempt of find("attempts", (row) => row.state === "denied")) {
    depositMade(attempt.number, (await depositsOf(attempt.order))?.[0]); // an earlier try may have come through after all
  }
  for (const order of find("orders")) await refresh(order.id);
  for (const payin of find("payins", (row) => row.status === "succeeded")) {
    await readRefunds(payin.id);
    const disputes = await everything("/dispute", { payin_id: payin.id });
    transaction(() => disputes?.forEach((data) => applyDispute(data, data.updated_at)));
  }
}
