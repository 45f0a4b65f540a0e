// The double in a container, from Node 22 or newer: npm install testcontainers; node --test
import assert from "node:assert/strict";
import { randomUUID } from "node:crypto";
import { createServer } from "node:http";
import { after, before, test } from "node:test";
import { GenericContainer, Wait } from "testcontainers";

const heard = [];
let container, receiver, service;

before(async () => {
  // Your own webhook endpoint; this one only remembers the types of events.
  receiver = createServer(async (request, response) => {
    const chunks = await request.toArray();
    heard.push(JSON.parse(Buffer.concat(chunks)).type);
    response.writeHead(204).end();
  });
  await new Promise((resolve) => receiver.listen(0, "0.0.0.0", resolve));
  container = await new GenericContainer(process.env.PAYDOUBLE_IMAGE ?? "paydouble")
    .withExposedPorts(8080)
    .withExtraHosts([{ host: "host.docker.internal", ipAddress: "host-gateway" }])
    .withEnvironment({
      PAYDOUBLE_CLOCK: "manual",
      PAYDOUBLE_NOTIFICATION_URL: `http://host.docker.internal:${receiver.address().port}/webhooks`,
    })
    .withWaitStrategy(Wait.forHttp("/_paydouble/health", 8080))
    .start();
  service = `http://${container.getHost()}:${container.getMappedPort(8080)}`;
});

after(async () => {
  await container?.stop();
  receiver?.close();
});

async function post(path, body, headers = {}) {
  const response = await fetch(service + path, {
    method: "POST",
    headers: { "Content-Type": "application/json", ...headers },
    body: JSON.stringify(body),
  });
  assert.ok(response.ok, `${path}: ${response.status}`);
  return response.json();
}

test("a minute later the deposit is paid", async () => {
  const deposit = {
    amount: 49.9,
    currency: "EUR",
    external_identifier: "order-1",
    payment_method: { type: "CREDIT_CARD" },
    customer: { first_name: "Ada", last_name: "Byron", email: "ada@example.test" },
  };
  await post("/api/v1/pay-in/deposit-creation", deposit, {
    Authorization: `Basic ${btoa("sandbox_key:sandbox_secret")}`,
    "Idempotency-Key": randomUUID(),
  });

  await post("/_paydouble/sandboxes/default/clock/advance", { by: "1m" });

  assert.deepEqual(heard, ["pay-in.created", "pay-in.pending", "pay-in.processing", "pay-in.succeeded"]);
});
