// The client of the payment service's API.

import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import { now } from "./books.js";
import { parseJson } from "./money.js";
import { API_URL, AUTHORIZATION, PAUSE_SCALE, TIMEOUT_MS, mistake } from "./settings.js";

const ATTEMPTS = 5;
const LONGEST_WAIT_MS = 5000; // a customer does not wait longer for a rate limit; a background job goes on

/**
 * What a call came to. ok: carried out. refused: it never will be. denied: our credentials or address are not
 * accepted. conflict: the key belongs to another request. later: not carried out, to be tried again. unknown: nobody
 * can tell.
 * @typedef {{kind: "ok" | "refused" | "denied" | "conflict" | "later" | "unknown", data?: any, reason?: string,
 *   waitMs?: number}} Reply
 */

let limitedUntil = 0;

export const forgetLimit = () => void (limitedUntil = 0);

/** Make one call, tried again with the same key and the same bytes while its outcome is open.
 * @param {string} method @param {string} path @param {{key?: string, body?: string}} [options] @returns {Promise<Reply>} */
export async function call(method, path, { key, body } = {}) {
  /** @type {Reply} */
  let reply = { kind: "later", reason: "rate limited" };
  let doubtful = false;
  for (let attempt = 0; attempt < ATTEMPTS; attempt++) {
    const wait = limitedUntil - now();
    if (wait > LONGEST_WAIT_MS) return { kind: doubtful ? "unknown" : "later", reason: `rate limited for ${wait} ms` };
    if (wait > 0) await sleep(wait);
    if (body !== undefined && mistake("body-changes-on-retry")) {
      body = body
        .replace(/}$/, `, "metadata": {"attempt": "${attempt + 1}"}}`)
        .replace(/, "metadata".*(, "metadata")/, "$1");
    }
    reply = await once(method, path, key, body);
    if (reply.waitMs !== undefined) {
      limitedUntil = now() + (reply.waitMs > 0 || mistake("rate-limit-unit") ? reply.waitMs : pause(attempt));
      continue;
    }
    if (reply.kind === "conflict" && mistake("new-key-after-conflict")) {
      key = randomUUID();
      continue;
    }
    if (reply.kind !== "unknown") break;
    doubtful = true;
    if (attempt + 1 < ATTEMPTS) await sleep(pause(attempt));
  }
  if (doubtful && (reply.kind === "denied" || reply.kind === "later")) return { ...reply, kind: "unknown" };
  return reply;
}

/** @param {number} attempt @returns {number} milliseconds */
function pause(attempt) {
  if (mistake("fixed-pause")) return PAUSE_SCALE * 1000;
  return PAUSE_SCALE * 1000 * 2 ** attempt * (0.75 + Math.random() / 2);
}

/** @type {Record<number, Reply["kind"]>} */
const KINDS = { 400: "refused", 404: "refused", 422: "refused", 401: "denied", 403: "denied", 409: "conflict" };

/** @param {string} method @param {string} path @param {string} [key] @param {string} [body] @returns {Promise<Reply>} */
async function once(method, path, key, body) {
  /** @type {Record<string, string>} */
  const headers = { Authorization: AUTHORIZATION, Accept: "application/json" };
  if (body !== undefined) Object.assign(headers, { "Content-Type": "application/json", "Idempotency-Key": key });
  let response, content;
  try {
    const signal = AbortSignal.timeout(TIMEOUT_MS);
    response = await fetch(API_URL + path, { method, headers, body, signal, redirect: "manual" });
    content = await response.text();
  } catch (error) {
    console.warn(`${method} ${path}: no reply: ${error}`);
    return { kind: "unknown", reason: String(error) };
  }
  /** @type {any} */
  let answer = {};
  try {
    answer = Object(parseJson(content));
  } catch {
    console.warn(`${method} ${path}: unreadable reply of ${content.length} characters`);
  }
  const { status } = response;
  const error = Object(answer.error);
  const requestId = response.headers.get("x-request-id") ?? answer.request_id ?? error.request_id;
  const reason = `${status} ${error.code ?? ""}: ${error.message ?? ""}`;
  console.info(`${method} ${path}: ${status} (request ${requestId})`);

  if (status === 429) return { kind: "later", reason, waitMs: untilReset(response.headers.get("x-ratelimit-reset")) };
  if (status >= 200 && status < 300) {
    if (answer.success === true && answer.data && typeof answer.data === "object")
      return { kind: "ok", data: answer.data };
    return { kind: "unknown", reason: "a reply without success" };
  }
  if (mistake("one-envelope")) {
    /** @type {Record<string, Reply["kind"]>} */
    const final = { INVALID_INPUT: "refused", VALIDATION_ERROR: "refused", IDEMPOTENCY_CONFLICT: "conflict" };
    return { kind: final[error.code] ?? "unknown", reason };
  }
  return { kind: KINDS[status] ?? "unknown", reason };
}

/** The milliseconds until the limit is reset; the header's unit is not documented, but can be told.
 * @param {string | null} header */
function untilReset(header) {
  const value = Number(header ?? NaN);
  if (!Number.isFinite(value)) return 0;
  if (mistake("rate-limit-unit")) return Math.max(new Date(value).getTime() - now(), 0);
  if (value > 1e11) return Math.max(value - now(), 0);
  return Math.max(value > 1e9 ? value * 1000 - now() : value * 1000, 0);
}

/** All items of a list, page by page; null when they cannot be read now.
 * @param {string} path @param {Record<string, string>} query @returns {Promise<any[] | null>} */
export async function everything(path, query) {
  const found = [];
  for (let cursor; ;) {
    const page = await call(
      "GET",
      `${path}?${new URLSearchParams({ ...query, limit: "100", ...(cursor && { cursor }) })}`,
    );
    if (page.kind !== "ok" || !Array.isArray(page.data.items)) return null;
    found.push(...page.data.items);
    cursor = page.data.next_cursor;
    if (!cursor) return found;
  }
}
