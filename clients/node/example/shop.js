// A shop on Express: it pays orders at the payment service, and learns by webhooks what became of them.
import { createHmac, randomUUID, timingSafeEqual } from "node:crypto";
import { setTimeout } from "node:timers/promises";
import express from "express";

const ATTEMPTS = 4;
const TOLERANCE_SECONDS = 300;
const A_DAY_SECONDS = 86_400;

/**
 * Return the application. `service` has `baseUrl`, `authorization` and `webhookSecret`; `sleep` waits for milliseconds.
 * @param {{ baseUrl: string, authorization: string, webhookSecret: string }} service
 */
export function makeShop(service, sleep = setTimeout) {
  const orders = new Map(); // stands for the database, and so does the next line
  const seen = new Set();
  const app = express();
  app.locals.isDown = false;

  app.put("/orders/:id", express.json(), (request, response) => {
    const { id } = request.params;
    // The key is made once and kept, so that each attempt to pay this order is the same request.
    orders.set(id, { id, amount: request.body.amount, key: randomUUID(), status: "unpaid", shipped: 0 });
    response.sendStatus(201);
  });

  app.get("/orders/:id", (request, response) => {
    const { status, shipped } = orders.get(request.params.id);
    response.json({ status, shipped });
  });

  app.post("/orders/:id/payment", async (request, response) => {
    response.sendStatus(await pay(orders.get(request.params.id)));
  });

  // The raw body is what was signed; express.json() would lose it.
  app.post("/webhooks", express.raw({ type: () => true }), (request, response) => {
    if (app.locals.isDown) return response.sendStatus(503);
    if (!isSigned(request.body, request.get("X-Service-Signature"))) return response.sendStatus(401);
    const event = JSON.parse(request.body);
    const order = orders.get(event.data.object.external_identifier);
    if (event.type === "pay-in.succeeded" && order && !seen.has(event.id)) {
      order.status = "paid";
      order.shipped += 1;
    }
    seen.add(event.id);
    response.sendStatus(200);
  });

  /** Create the deposit of an order, and return the status for the customer. */
  async function pay(order) {
    for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
      const response = await deposit(order).catch(() => undefined); // without a reply nobody knows: the same key is safe
      if (response?.ok) return 200;
      if (response && response.status < 500 && response.status !== 429) return 422;
      await sleep(response?.status === 429 ? pauseAfter(response) : 10 * attempt);
    }
    return 503;
  }

  function deposit({ id, amount, key }) {
    return fetch(`${service.baseUrl}/pay-in/deposit-creation`, {
      method: "POST",
      headers: { Authorization: service.authorization, "Content-Type": "application/json", "Idempotency-Key": key },
      body: JSON.stringify({
        amount: Number(amount), // a decimal text of up to fifteen digits is written as it was
        currency: "EUR",
        external_identifier: id,
        payment_method: { type: "CREDIT_CARD" },
        customer: { first_name: "Ada", last_name: "Lovelace", email: "ada@example.test" },
      }),
      signal: AbortSignal.timeout(10_000),
    });
  }

  function isSigned(body, header = "") {
    const parts = header.split(",").map((part) => part.split("="));
    const time = parts.find(([name]) => name === "t")?.[1];
    if (!(Math.abs(Date.now() / 1000 - Number(time)) <= TOLERANCE_SECONDS)) return false;
    const expected = createHmac("sha256", service.webhookSecret).update(`${time}.`).update(body).digest();
    const digests = parts.filter(([name]) => name === "v1").map(([, digest]) => Buffer.from(digest ?? "", "hex"));
    return digests.some((digest) => digest.length === expected.length && timingSafeEqual(digest, expected));
  }

  return app;
}

/** Return the milliseconds until the next request is allowed. */
function pauseAfter(response) {
  const reset = Number(response.headers.get("X-RateLimit-Reset"));
  if (!(reset > 0)) return 1000;
  // The service does not document the unit: a small number can only be a delay, a large one a time.
  return Math.max(0, reset < A_DAY_SECONDS ? reset * 1000 : reset * 1000 - Date.now());
}
