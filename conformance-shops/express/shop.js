// @ts-check
// A shop on Express: the calls of its customers and its staff, and the webhook endpoint.

import { createHmac, timingSafeEqual } from "node:crypto";
import express from "express";
import { get, now, put, reset, setTime, transaction } from "./books.js";
import { parseJson } from "./money.js";
import * as orders from "./orders.js";
import { forgetLimit } from "./payments.js";
import { LIVEMODE, PORT, WEBHOOK_SECRET, mistake } from "./settings.js";

const TOLERANCE_SECONDS = 300;

const app = express();
app.disable("x-powered-by");
app.use(express.raw({ type: () => true, limit: "1mb" })); // signatures are about bytes

/** @param {express.Request} req */
const input = (req) => parseJson(Buffer.isBuffer(req.body) && req.body.length ? req.body.toString() : "{}");

app.get("/health", (_req, res) => void res.json({ status: "ok" }));

app.post("/test/orders", (req, res) => {
  const { id, amount, currency } = input(req);
  orders.place(id, amount, currency);
  res.status(201).json(orders.view(id));
});

app.get("/test/orders/:id", (req, res) => void res.json(orders.view(req.params.id)));

app.post("/test/orders/:id/pay", async (req, res) => void res.json(await orders.pay(req.params.id)));
app.post("/test/orders/:id/retry", async (req, res) => void res.json(await orders.pay(req.params.id)));

app.post("/test/orders/:id/return", async (req, res) => {
  await orders.customerReturns(req.params.id);
  res.json(orders.view(req.params.id));
});

app.post("/test/orders/:id/refunds", async (req, res) => {
  const { id, amount } = input(req);
  res.status(201).json(await orders.refund(req.params.id, id, amount));
});

app.post("/test/tick", async (_req, res) => {
  await orders.backgroundJobs();
  res.json({ status: "ok" });
});

app.post("/test/reset", (_req, res) => {
  reset();
  forgetLimit();
  res.json({ status: "ok" });
});

app.post("/test/time", (req, res) => {
  setTime(input(req).now);
  res.json({ status: "ok" });
});

// ------------------------------------------------------------------------------------------------------------ webhooks

app.post("/webhooks/payments", async (req, res) => {
  const body = Buffer.isBuffer(req.body) ? req.body : Buffer.alloc(0);
  const problem = problemOfSignature(req.get("X-Service-Signature"), body);
  if (problem) {
    console.warn(`webhook refused: ${problem.error}`);
    res.status(problem.status).json({ error: problem.error });
    return;
  }
  let event;
  try {
    event = Object(parseJson(body.toString()));
  } catch {
    event = {}; // it will not become readable: do not ask for it again
  }
  const data = event.data?.object;
  if (!event.id || !event.type || !data?.id || event.livemode !== LIVEMODE) {
    res.json({ status: "ignored" });
    return;
  }
  console.info(`event ${event.id} ${event.type} (request ${event.request_id})`);
  if (
    mistake("unknown-events-refused") &&
    !/^(pay-in|refund|dispute)\.(created|pending|processing|succeeded|failed|cancelled|updated|closed)$/.test(
      event.type,
    )
  ) {
    res.status(400).json({ error: `unknown type ${event.type}` });
    return;
  }
  if (
    mistake("unknown-events-refused") &&
    event.type.startsWith("pay-in.") &&
    !get("orders", data.external_identifier)
  ) {
    res.status(404).json({ error: `unknown order ${data.external_identifier}` });
    return;
  }
  if (mistake("acknowledge-before-work")) setTimeout(processEvent, 300, event);
  else if (mistake("seen-before-work")) await processLater(event);
  else processEvent(event);
  res.json({ status: "ok" });
});

/** What is wrong and the status to answer; null when the delivery is the service's.
 * @param {string | undefined} header @param {Buffer} body */
function problemOfSignature(header, body) {
  if (!header && mistake("missing-signature-accepted")) return null;
  const parts = (header ?? "").split(",").map((part) => part.trim().split(/=(.*)/s));
  const times = parts.filter(([name]) => name === "t").map(([, value]) => value ?? "");
  const digests = parts.filter(([name]) => name === "v1").map(([, value]) => value ?? ""); // two while the secret is rotated
  if (times.length !== 1 || !/^\d+$/.test(times[0]) || digests.length === 0) {
    return { status: 400, error: "the signature is missing or malformed" };
  }
  const tolerance = TOLERANCE_SECONDS * (mistake("tolerance-in-milliseconds") ? 1000 : 1);
  if (Math.abs(now() / 1000 - Number(times[0])) > tolerance) {
    return { status: 400, error: "the signature's time is too far from now" };
  }
  const signed = mistake("reserialised-body") ? JSON.stringify(JSON.parse(body.toString())) : body;
  const expected = createHmac("sha256", WEBHOOK_SECRET).update(`${times[0]}.`).update(signed).digest("hex");
  const same = digests.some((digest) => {
    const given = Buffer.from(digest);
    return given.length === expected.length && timingSafeEqual(given, Buffer.from(expected));
  });
  return same ? null : { status: 401, error: "the signature does not match" };
}

/** Write the event's effect and that it has been seen, both or neither. @param {any} event */
function processEvent(event) {
  transaction(() => {
    if (isSeen(event)) return;
    apply(event);
  });
}

/** Whether the event has been processed; notes that it has. @param {any} event */
function isSeen(event) {
  const id = mistake("dedup-by-request-id") ? String(event.request_id) : event.id;
  if (get("events", id)) return true;
  put("events", id, { id });
  return false;
}

/** @param {any} event */
function apply({ id, type, created_at, data: { object } }) {
  const at = Number.isNaN(Date.parse(created_at)) ? "1970-01-01T00:00:00Z" : created_at;
  const [family, suffix] = type.split(".");
  if (family === "pay-in" && suffix === object.status) orders.applyPayin(object, at, id);
  else if (family === "refund" && suffix === object.status) orders.applyRefund(object, at);
  else if (family === "dispute") orders.applyDispute(object, at);
  else console.warn(`event ${id} ${type} with status ${object.status} is not for us`);
}

/** Only for a mistake. @param {any} event */
async function processLater(event) {
  if (transaction(() => isSeen(event))) return;
  await new Promise((done) => setTimeout(done, 100)); // as long as a mail server takes to answer
  transaction(() => apply(event));
}

/** @type {express.ErrorRequestHandler} */
const refuse = (error, _req, res, _next) => {
  if (!(error instanceof orders.Refusal)) console.error(error);
  res.status(error.status ?? 500).json({ error: error.message });
};
app.use(refuse);

app.listen(PORT, "127.0.0.1");
