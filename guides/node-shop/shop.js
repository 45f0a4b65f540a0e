// A shop on Express: orders, their payment, and the payment service's webhooks.

import { randomUUID } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import express from "express";
import Stripe from "stripe"; // for its verifier alone: the service signs as Stripe does

// What an event may still change: the progress of a payment, and never its end.
const PROGRESS = ["unpaid", "created", "pending", "processing"];

class Unavailable extends Error {} // nobody knows what became of the request; trying again is safe
class Refused extends Error {} // the service has said no, and would say so again

// Creates an order's deposit and returns the address where the customer pays.
async function pay(service, order) {
  const request = {
    method: "POST",
    headers: {
      Authorization: `Basic ${btoa(`${service.key}:${service.secret}`)}`,
      "Content-Type": "application/json",
      "Idempotency-Key": order.key,
    },
    body: JSON.stringify({
      amount: order.cents / 100, // written with two digits at most, whatever the number is in binary
      currency: "EUR",
      external_identifier: order.id,
      payment_method: { type: "CREDIT_CARD" },
      customer: { first_name: "Ada", last_name: "Lovelace", email: "ada@example.test" },
    }),
  };
  for (const pause of [...service.pauses, null]) {
    try {
      return await attempt(service, request);
    } catch (error) {
      if (error instanceof Refused) throw error;
      if (pause !== null) await sleep(pause);
    }
  }
  throw new Unavailable();
}

async function attempt(service, request) {
  const url = `${service.baseUrl}/pay-in/deposit-creation`;
  const response = await fetch(url, { ...request, redirect: "manual", signal: AbortSignal.timeout(5000) });
  if (response.status >= 400 && response.status < 500 && response.status !== 429) throw new Refused();
  if (!response.ok) throw new Error(`answered ${response.status}`);
  return (await response.json()).data.payment_url;
}

// Learns what a verified event tells.
function hear(orders, event) {
  const [family, status] = event.type.split(".");
  const payIn = event.data?.object;
  const order = orders.get(payIn?.external_identifier);
  if (family !== "pay-in" || !order || !PROGRESS.includes(order.status)) return; // not ours, or settled before
  if (PROGRESS.indexOf(status) > PROGRESS.indexOf(order.status)) order.status = status;
  if (status === "failed" || status === "cancelled") order.status = status;
  if (status === "succeeded") {
    const isRight = Math.round(payIn.amount * 100) === order.cents && payIn.currency === "EUR";
    order.status = isRight ? "paid" : "review";
    if (isRight) order.shipped += 1;
  }
}

// Returns the application. `service` has baseUrl, key, secret, webhookSecret, and the pauses between attempts in ms.
export function makeApp(service) {
  const orders = new Map(); // stands for the database
  const app = express();

  app.put("/orders/:id", express.json(), (request, response) => {
    const { id } = request.params;
    // The key is made once and kept, so that every attempt to pay this order is the same request.
    orders.set(id, { id, cents: request.body.cents, key: randomUUID(), status: "unpaid", shipped: 0 });
    response.sendStatus(201);
  });

  app.get("/orders/:id", (request, response) => {
    const { status, shipped } = orders.get(request.params.id);
    response.json({ status, shipped });
  });

  app.post("/orders/:id/payment", async (request, response) => {
    try {
      response.json({ payAt: await pay(service, orders.get(request.params.id)) });
    } catch (error) {
      if (error instanceof Unavailable) response.status(503).json({ error: "please try again in a minute" });
      else if (error instanceof Refused) response.status(422).json({ error: "this order cannot be paid" });
      else throw error;
    }
  });

  // The raw body is what was signed; express.json() before this route would lose it.
  app.post("/webhooks", express.raw({ type: "*/*", limit: "5mb" }), (request, response) => {
    let event;
    try {
      const header = request.get("X-Service-Signature");
      event = Stripe.webhooks.constructEvent(request.body, header, service.webhookSecret);
    } catch (error) {
      return response.sendStatus(400);
    }
    hear(orders, event);
    response.sendStatus(200);
  });

  return app;
}
