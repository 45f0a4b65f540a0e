import { sign, verifySignature, WebhookReceiver, type Sandbox } from "paydouble";
import { test } from "paydouble/vitest";
import { describe, expect } from "vitest";
import { deposit } from "./support/shop.js";

const TYPES = ["pay-in.created", "pay-in.pending", "pay-in.processing", "pay-in.succeeded"];

/** Make a deposit, and let its four events come. */
async function pay(sandbox: Sandbox, order = "order-1"): Promise<void> {
  await deposit(sandbox, order);
  await sandbox.clock.advance("1m");
}

test("verified deliveries are kept with their bytes", async ({ sandbox, receiver }) => {
  await pay(sandbox);

  expect(receiver.received.map(({ event }) => event.type)).toEqual(TYPES);
  expect(receiver.received.map(({ answered }) => answered)).toEqual([200, 200, 200, 200]);
  const [first] = receiver.received;
  expect(first?.body.toString()).toContain('"amount":49.90');
  expect(first?.event).toMatchObject({ data: { object: { amount: "49.90" } } });
  await sandbox.deliveries.verify({ status: "delivered", count: 4 });
});

test("answers are given in order, once each", async ({ sandbox, receiver }) => {
  receiver.fail(1);
  receiver.slow(1);
  receiver.answerNext("crash", ({ event }) => (event.type === "pay-in.succeeded" ? 202 : undefined));

  await pay(sandbox);
  await sandbox.clock.advance("72h");

  const first = receiver.received.find(({ attempt }) => attempt === 2);
  expect(first?.duplicate).toBe(false);
  expect(receiver.received.map(({ answered }) => answered).sort()).toEqual([0, 200, 200, 200, 202, 503]);
});

test("a function that throws answers 500", async ({ sandbox, receiver }) => {
  receiver.answerNext(() => {
    throw new Error("no database");
  });

  await pay(sandbox);

  expect(receiver.failures).toEqual([new Error("no database")]);
  expect(receiver.received[0]?.answered).toBe(500);
});

test("a receiver that hangs is waited for until the sender gives up", async ({ sandbox, receiver }) => {
  await sandbox.change({ settings: { webhooks: { timeout: "100ms" } } });
  receiver.answerNext("hang");

  await deposit(sandbox, "order-1");
  await sandbox.clock.advance("1s");

  expect((await sandbox.deliveries.list())[0]?.attempts[0]?.error?.kind).toBe("timeout");
});

test("a receiver that is down comes back within 72 hours", async ({ sandbox, receiver }) => {
  receiver.down();
  await pay(sandbox);
  expect(receiver.received).toEqual([]);

  receiver.up();
  await sandbox.clock.advance("72h");

  expect(receiver.received.map(({ event }) => event.type).sort()).toEqual([...TYPES].sort());
});

test("a second delivery of an event that was taken is a duplicate", async ({ sandbox, receiver }) => {
  await sandbox.faults.add("duplicate", { event_type: "pay-in.created", copies: 1 });

  await pay(sandbox);

  const created = receiver.received.filter(({ event }) => event.type === "pay-in.created");
  expect(created.map(({ attempt, duplicate }) => [attempt, duplicate])).toEqual([
    [1, false],
    [2, true],
  ]);
});

test("after a rotation the new secret verifies", async ({ sandbox, receiver }) => {
  receiver.secret = (await sandbox.webhook.rotateSecret()).secret;

  await pay(sandbox);

  expect(receiver.received.map(({ error }) => error)).toEqual([undefined, undefined, undefined, undefined]);
});

describe("wait", () => {
  test("returns as soon as enough has come", async ({ sandbox, receiver }) => {
    const four = receiver.wait(4, 60_000);
    const last = receiver.wait(({ event }) => event.type === "pay-in.succeeded", 60_000);

    await pay(sandbox);

    expect(await four).toHaveLength(4);
    expect(await last).toHaveLength(4);
    receiver.clear();
    expect(receiver.received).toEqual([]);
  });

  test("shows what came instead", async ({ sandbox, receiver }) => {
    const error = await receiver.wait(1, 1).catch((reason: unknown) => reason);
    expect((error as Error).message).toContain("has its clock been advanced?");
    expect((error as Error).stack).not.toContain("receiver.js");
    receiver.secret = "whsec_other";
    await deposit(sandbox, "order-1");
    await receiver.wait(1, 60_000);

    await expect(receiver.wait(9, 1)).rejects.toThrow(
      /^expected 9 deliveries at http:\S+ within 1 ms, received 1\n {2}pay-in.created: no `v1` fits this body and this secret; check that the body has the bytes as they came, and that the secret is the webhook secret of the sandbox \(answered 401\)$/,
    );
  });
});

test("a receiver for a container listens on all addresses", async () => {
  await using receiver = await WebhookReceiver.listen({ secret: "whsec_1", reachableAs: "host.docker.internal" });

  expect(receiver.url).toMatch(/^http:\/\/host\.docker\.internal:\d+\/$/);
  const url = receiver.url.replace("host.docker.internal", "127.0.0.1");
  const body = '{"id": "evt_1", "type": "pay-in.created"}';
  const post = (signature: string) =>
    fetch(url, { method: "POST", body, headers: { "X-Service-Signature": signature } }).then(({ status }) => status);
  expect(await post(sign(body, "whsec_1"))).toBe(200);
  expect(await post("t=1,v1=00")).toBe(400);
  expect(receiver.received.map(({ event }) => event.id)).toEqual(["evt_1", "evt_1"]);
  await receiver.close();
});

test("what is signed and no event is kept, and is never a duplicate", async () => {
  await using receiver = await WebhookReceiver.listen({ secret: "whsec_1" });

  for (const body of ["[]", "[]", "{"]) {
    await fetch(receiver.url, { method: "POST", body, headers: { "X-Service-Signature": sign(body, "whsec_1") } });
  }

  expect(receiver.received.map(({ event, attempt, duplicate }) => ({ event, attempt, duplicate }))).toEqual(
    Array(3).fill({ event: {}, attempt: 1, duplicate: false }),
  );
});

test("a receiver with a blank secret is a mistake of the caller", async () => {
  await expect(WebhookReceiver.listen({ secret: " " })).rejects.toThrow("the webhook secret is blank");
});

describe("a signature", () => {
  const NOW = 1_700_000_000;
  const check = (header: string | undefined, body: string | Buffer = "{}") => {
    verifySignature(body, header, "whsec_1", { now: NOW });
  };
  const good = sign("{}", "whsec_1", NOW);

  test.for([good, `v1=00,${good}`, ` ${good} `, `${good},v0=1`, sign("{}", "whsec_1", NOW - 300)])(
    "%j verifies",
    (header) => {
      expect(() => {
        check(header);
      }).not.toThrow();
    },
  );

  test.for<[string | undefined, number]>([
    [undefined, 400],
    [" ", 400],
    ["t=1", 400],
    [`t=${NOW}`, 400],
    [`t=${NOW},v1=`, 400],
    [`t=${NOW},${good}`, 400],
    [good.replace("t=", "t=+"), 400],
    [sign("{}", "whsec_1", NOW - 301), 400],
    [sign("{}", "whsec_1", NOW + 301), 400],
    [sign("{} ", "whsec_1", NOW), 401],
    [sign("{}", "whsec_2", NOW), 401],
    [`t=${NOW},v1=00`, 401],
  ])("%j is answered %i", ([header, status]) => {
    expect(() => {
      check(header);
    }).toThrow(expect.objectContaining({ name: "SignatureError", status }) as Error);
  });

  test("a blank secret is a mistake of the caller", () => {
    expect(() => sign("{}", " ")).toThrow("the webhook secret is blank");
  });
});
