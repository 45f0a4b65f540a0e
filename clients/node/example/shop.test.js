import { expect } from "vitest";
import { test } from "./fixtures.js";

test("a lost reply is asked for again, and charged once", async ({ shop, sandbox }) => {
  await sandbox.faults.add("connection_reset", { operation: "deposit-creation", phase: "after_commit", times: 1 });

  expect(await shop.pay("order-1")).toBe(200);

  await sandbox.requests.verify({ external_identifier: "order-1", verdict: "new", count: 1 });
  await sandbox.requests.verify({ external_identifier: "order-1", verdict: "replay", count: 1 });
});

test("an event that comes twice ships once", async ({ shop, sandbox }) => {
  await sandbox.faults.add("duplicate", { event_type: "pay-in.succeeded", copies: 1 });

  await shop.pay("order-1");
  await sandbox.clock.advance("1m");

  await sandbox.deliveries.verify({ type: "pay-in.succeeded", status: "delivered", count: 2 });
  expect(await shop.order("order-1")).toEqual({ status: "paid", shipped: 1 });
});

test("a shop that is down for two days learns within 72 hours that it was paid", async ({ shop, sandbox }) => {
  shop.app.locals.isDown = true;
  await shop.pay("order-1");
  await sandbox.clock.advance("48h");
  expect(await shop.order("order-1")).toEqual({ status: "unpaid", shipped: 0 });

  shop.app.locals.isDown = false;
  await sandbox.clock.advance("24h");

  expect(await shop.order("order-1")).toEqual({ status: "paid", shipped: 1 });
  await sandbox.deliveries.verify({ status: "delivered", count: 4 });
});

test("a shop that asks too often waits as long as the 429 says", async ({ shop, sandbox }) => {
  await sandbox.rateLimit.set(1, { window: "30s", clock: "sandbox_clock", reset_unit: "delta_seconds" });

  expect(await shop.pay("order-1")).toBe(200);
  expect(await shop.pay("order-2")).toBe(200);

  await sandbox.requests.verify({ external_identifier: "order-2", status: 429, count: 1 });
  await sandbox.requests.verify({ external_identifier: "order-2", verdict: "new", count: 1 });
});
