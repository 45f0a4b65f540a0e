// The shop, its payment service, and what can come between them.

import assert from "node:assert/strict";
import { afterEach, beforeEach, test } from "node:test";
import { makeSandbox } from "./paydouble.js";
import { makeApp } from "./shop.js";

let sandbox, server, url;

beforeEach(async () => {
  sandbox = await makeSandbox();
  server = makeApp({ ...sandbox, pauses: [0, 0, 0] }).listen(0, "127.0.0.1");
  await new Promise((resolve) => server.once("listening", resolve));
  url = `http://127.0.0.1:${server.address().port}`;
  await sandbox.sendWebhooksTo(`${url}/webhooks`);
  await fetch(`${url}/orders/order-1`, {
    method: "PUT",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ cents: 4990 }),
  });
});

afterEach(async () => {
  await sandbox.remove();
  server.closeAllConnections();
  server.close();
});

const pay = () => fetch(`${url}/orders/order-1/payment`, { method: "POST" });
const status = async () => (await fetch(`${url}/orders/order-1`)).json();

test("a paid order is shipped", async () => {
  assert.equal((await pay()).status, 200);
  await sandbox.advance("6s");

  assert.deepEqual(await status(), { status: "paid", shipped: 1 });
});

for (const trouble of ["connection_reset", "html_error", "truncate"]) {
  for (const phase of ["before_commit", "after_commit"]) {
    test(`one broken answer makes one deposit: ${trouble} ${phase}`, async () => {
      await sandbox.addFault({ type: trouble }, { phase, times: 1 });

      assert.equal((await pay()).status, 200);
      assert.equal((await sandbox.events("pay-in.created")).length, 1);
    });
  }
}

test("an outage is survived", async () => {
  await sandbox.addFault({ type: "error", status: 503 });
  assert.equal((await pay()).status, 503);

  await sandbox.clearFaults();
  assert.equal((await pay()).status, 200);
  assert.equal((await sandbox.events("pay-in.created")).length, 1);
});

for (const how of [{ type: "duplicate", copies: 2 }, { type: "reorder", window: 4 }, { type: "tie" }]) {
  test(`webhooks may come in any way: ${how.type}`, async () => {
    await sandbox.addFault(how);
    await pay();
    await sandbox.advance("1h");

    assert.deepEqual(await status(), { status: "paid", shipped: 1 });
  });
}

for (const mode of ["key_order", "pretty", "trailing_newline"]) {
  test(`the bytes are verified as they came: ${mode}`, async () => {
    await sandbox.addFault({ type: "formatting", mode });
    await pay();
    await sandbox.advance("10s");

    assert.deepEqual(await status(), { status: "paid", shipped: 1 });
  });
}

for (const mode of ["missing", "malformed", "wrong_secret", "stale", "v0_only"]) {
  test(`a forged webhook changes nothing: ${mode}`, async () => {
    await sandbox.addFault({ type: "signature", mode });
    await pay();
    await sandbox.advance("10s");

    assert.deepEqual(await status(), { status: "unpaid", shipped: 0 });
    assert.deepEqual([...new Set((await sandbox.attempts()).map((each) => each.status))], [400]);
  });
}
