import { randomUUID } from "node:crypto";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { ControlRefused, NotAsExpected, type EffectObject, type Resource } from "paydouble";
import { test } from "paydouble/vitest";
import { describe, expect } from "vitest";
import { deposit } from "./support/shop.js";

test("what the code under test needs", async ({ sandbox, paydouble }) => {
  expect(sandbox.baseUrl).toBe(`${paydouble.url}/api/v1`);
  expect(sandbox.authorization).toBe(`Basic ${btoa(`${sandbox.businessKey}:${sandbox.businessSecret}`)}`);
  expect(sandbox.seed).toBe(0);
  expect((await sandbox.clock.read()).mode).toBe("manual");

  const { id, settings } = await sandbox.read();

  expect(id).toBe(sandbox.id);
  expect(settings).toBeDefined();
});

describe("verify", () => {
  test("returns how many match", async ({ sandbox }) => {
    await deposit(sandbox, "order-1");
    await deposit(sandbox, "order-2");

    expect(await sandbox.requests.verify()).toBe(2);
    expect(await sandbox.requests.verify({ external_identifier: "order-1", body: { amount: 49.9 }, at_most: 1 })).toBe(
      1,
    );
    await sandbox.requests.verify({
      sequence: [{ external_identifier: "order-1" }, { external_identifier: "order-2" }],
    });
  });

  test("shows the near misses", async ({ sandbox }) => {
    await deposit(sandbox, "order-1");

    const error = await sandbox.requests
      .verify({ external_identifier: "order-1", verdict: "replay" })
      .catch((reason: unknown) => reason);

    expect(error).toBeInstanceOf(NotAsExpected);
    expect((error as Error).stack).not.toContain("handles.js");
    expect((error as Error).message).toMatch(
      /^expected at least 1 of the requests with external_identifier "order-1", verdict "replay", found 0\n {2}close: \S+ POST \/api\/v1\/pay-in\/deposit-creation\n {4}verdict: wanted "replay", got "new"$/,
    );
  });

  test("says that there is nothing", async ({ sandbox }) => {
    await expect(sandbox.deliveries.verify()).rejects.toThrow("there are no deliveries at all");
    await expect(sandbox.requests.last()).rejects.toThrow("there are no requests at all");
  });

  test("a wait ends as soon as it holds", async ({ sandbox }) => {
    const waiting = sandbox.requests.wait({ external_identifier: "order-1", timeout: 60_000 });
    await deposit(sandbox, "order-1");

    expect(await waiting).toBe(1);
    await expect(sandbox.requests.wait({ status: 500, timeout: "1ms" })).rejects.toThrow("found 0 within 1ms");
  });
});

test("the clock moves by a length of time, to an instant, and until nothing is left", async ({ sandbox }) => {
  await sandbox.clock.set({ mode: "manual", start: new Date("2030-01-01T00:00:00Z") });

  const times = [
    await sandbox.clock.advance("PT1H"),
    await sandbox.clock.advance(90_000),
    await sandbox.clock.advance({ to: new Date("2030-01-02T00:00:00Z") }),
    await sandbox.clock.advance({ until_idle: true }, { limit: 10 }),
  ].map(({ now }) => new Date(now).toISOString());

  expect(times).toEqual([
    "2030-01-01T01:00:00.000Z",
    "2030-01-01T01:01:30.000Z",
    "2030-01-02T00:00:00.000Z",
    "2030-01-02T00:00:00.000Z",
  ]);
});

describe("faults", () => {
  test("members are sorted into the fault, its match and its effect", async ({ sandbox }) => {
    const fault = await sandbox.faults.add("error", { status: 503, operation: "deposit-creation", times: 1, skip: 1 });

    const statuses = [];
    for (const order of ["order-1", "order-2", "order-3"]) statuses.push((await deposit(sandbox, order)).status);

    expect(statuses).toEqual([200, 503, 200]);
    expect((await sandbox.faults.get(fault.id)).times_fired).toBe(1);
    expect((await sandbox.faults.change(fault.id, { enabled: false })).enabled).toBe(false);
    expect(await sandbox.faults.remove(fault.id)).toBe(1);
    expect(await sandbox.faults.clear()).toBe(0);
  });

  test("an effect that shares a name with a match is an object", async ({ sandbox }) => {
    const effect: EffectObject = { type: "remove_method", method: "PIX" };
    await sandbox.faults.add(effect, { operation: "available-payment-methods" });
    // @ts-expect-error -- the types refuse what would become a member of the match
    const wrong = await sandbox.faults.add("remove_method", { method: "PIX" });

    expect(wrong.match).toEqual({ method: "PIX" });
  });

  test("a wrong member is refused with its name", async ({ sandbox }) => {
    // @ts-expect-error -- there is no such attribute
    const wrong = sandbox.faults.add("connection_reset", { tmies: 1 });

    await expect(wrong).rejects.toMatchObject({
      name: "ControlRefused",
      status: 400,
      member: expect.any(String) as string,
    });
  });
});

describe("money", () => {
  test("is decimal text, digit by digit", async ({ sandbox }) => {
    const payIn = await sandbox.scenarios.play("happy-path", { amount: "12.50" });
    await sandbox.clock.advance("1h");

    const refund = await sandbox.payIns.refund(payIn.id, { amount: "1.10", reason: "damaged" });
    expect([refund["amount"], refund["reason"]]).toEqual(["1.10", "damaged"]);
    const dispute = await sandbox.payIns.dispute(payIn.id, { amount: "2.10" });

    expect(payIn["amount"]).toBe("12.50");
    expect(dispute["amount"]).toBe("2.10");
    expect((await sandbox.payIns.get(payIn.id))["disputed_amount"]).toBe("2.10");
    expect((await sandbox.payIns.list()).map((each) => each["amount"])).toEqual(["12.50"]);
  });

  test.for([0.1 + 0.2, 12.5, "12,50", "1e3", "-1", "1234567890123456", Number.NaN])(
    "%s is refused",
    async (amount, { sandbox }) => {
      expect(() => sandbox.payIns.dispute("pi_1", { amount })).toThrow(/^amount: .* is not exact money/);
      await Promise.resolve();
    },
  );
});

describe("the timeline", () => {
  test("shows requests, events and attempts in their order, and what became of faults", async ({
    sandbox,
    receiver,
  }) => {
    await sandbox.faults.add("connection_reset", { phase: "after_commit", times: 1 });
    await sandbox.faults.add("drop", { event_type: "pay-in.pending" });
    await sandbox.faults.add("latency", { fixed: "1s", operation: "refund-creation" });
    receiver.fail(1);
    const key = randomUUID();
    await deposit(sandbox, "order-1", key).catch(() => undefined);
    await deposit(sandbox, "order-1", key);
    await deposit(sandbox, "order-1", "no-uuid");
    await sandbox.clock.advance("90s");

    expect((await sandbox.timeline()).split("\n")).toEqual([
      "+0s       merchant →  POST /pay-in/deposit-creation order-1  200 new (fault-1)",
      "+0s       service     pay-in.created order-1",
      "+0s       → merchant  pay-in.created order-1, attempt 1  503",
      "+0s       merchant →  POST /pay-in/deposit-creation order-1  200 replay",
      "+0s       merchant →  POST /pay-in/deposit-creation order-1  400 INVALID_IDEMPOTENCY_KEY: The Idempotency-Key is not a UUID version 4 such as 5f0c9d3e-8a41-4b7e-9c1d-2e6f7a8b9c0d.",
      "+2s       service     pay-in.pending order-1  dropped (fault-2)",
      "+3s       service     pay-in.processing order-1",
      "+3s       → merchant  pay-in.processing order-1, attempt 1  200",
      "+6s       service     pay-in.succeeded order-1",
      "+6s       → merchant  pay-in.succeeded order-1, attempt 1  200",
      "+1m       → merchant  pay-in.created order-1, attempt 2  200",
      "fault fault-1 (connection_reset) fired once",
      "fault fault-2 (drop) fired once",
      "fault fault-3 (latency) never fired; it matched nothing",
    ]);
  });

  test("of a long test only the end is shown", async ({ sandbox }) => {
    const payIn = await sandbox.scenarios.play("happy-path");
    await Promise.all(Array.from({ length: 200 }, () => sandbox.events.emit("pay-in.pending", payIn.id)));

    const lines = (await sandbox.timeline()).split("\n");

    expect(lines).toHaveLength(201);
    expect(lines[0]).toBe("… 1 earlier lines are left out");
  });
});

test("a payer, forced states and uploaded scenarios", async ({ sandbox }) => {
  await sandbox.scenarios.upload(
    "name: waits\nsummary: Waits for the payer.\nlifecycle:\n  pay_in:\n    - await: payer\n      pay: [{after: 0s, to: pending}]\n      decline: [{after: 0s, to: failed}]\n      abandon: [{after: 0s, to: cancelled}]\n",
  );
  await sandbox.scenarios.activate("waits");
  expect(await sandbox.scenarios.active()).toBe("waits");
  const [one, two, three] = (await Promise.all(
    ["1", "2", "3"].map((order) => sandbox.scenarios.play("waits", { external_identifier: order })),
  )) as [Resource, Resource, Resource];

  expect((await sandbox.payer(one).pay()).status).toBe("pending");
  expect((await sandbox.payer(two.id).decline("card_declined")).status).toBe("failed");
  expect((await sandbox.payer(three).abandon()).status).toBe("cancelled");
  expect((await sandbox.payIns.transition(one.id, "succeeded", { force: true })).status).toBe("succeeded");
  await expect(sandbox.payer(one).pay()).rejects.toMatchObject({ status: 409 });
  expect(await sandbox.payIns.timelineHtml(one.id)).toContain("<html");
  expect(await sandbox.scenarios.deactivate()).toBe("waits");
});

test("a fork goes on from a checkpoint", async ({ sandbox }) => {
  await deposit(sandbox, "order-1");
  const checkpoint = await sandbox.checkpoint();
  await deposit(sandbox, "order-2");

  await using fork = await sandbox.fork({ checkpoint });

  expect(await fork.payIns.list()).toHaveLength(1);
  expect(await sandbox.payIns.list()).toHaveLength(2);
  expect(fork.businessKey).not.toBe(sandbox.businessKey);
});

test("any call can be made by its path", async ({ sandbox, paydouble }) => {
  expect(await sandbox.call("PUT", "/clock", { mode: "auto" })).toMatchObject({ mode: "auto" });
  expect(await paydouble.call("GET", "/health")).toMatchObject({ status: "ok" });
});

test("a run is exported", async ({ sandbox, onTestFinished }) => {
  await deposit(sandbox, "order-1");
  const folder = await mkdtemp(join(tmpdir(), "paydouble-export-"));
  onTestFinished(() => rm(folder, { recursive: true }));

  await sandbox.export(join(folder, "run.paydouble"));

  expect(await readFile(join(folder, "run.paydouble"), "utf8")).toContain("deposit-creation");
});

test("a deleted sandbox is refused, and disposed of without an error", async ({ paydouble }) => {
  const sandbox = await paydouble.sandbox({ ttl: 60_000, labels: { made: "by-the-test" } });
  expect((await paydouble.sandboxes({ labels: { made: "by-the-test" } })).map(({ id }) => id)).toEqual([sandbox.id]);
  expect((await sandbox.read()).ttl).toBe("1m");
  await sandbox.delete();

  await expect(paydouble.find(sandbox.id)).rejects.toThrow(ControlRefused);
  await sandbox[Symbol.asyncDispose]();
});

describe.concurrent("tests that run at the same time", () => {
  test.for(Array.from({ length: 20 }, (_, place) => place))(
    "%i sees its own requests alone",
    async (place, { sandbox, expect }) => {
      await Promise.all(Array.from({ length: place }, (_, order) => deposit(sandbox, `order-${order}`)));

      expect(await sandbox.requests.list()).toHaveLength(place);
    },
  );
});
