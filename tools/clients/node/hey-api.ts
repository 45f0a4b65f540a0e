// A fault armed, and met, with the clients that @hey-api/openapi-ts makes.
import { randomUUID } from "node:crypto";
import { createClient } from "./generated/hey-api/client";
import { depositCreation } from "./generated/hey-api";
import { createClient as createControl } from "./generated/hey-control/client";
import { faultAdd, requestVerify, sandboxCreate } from "./generated/hey-control";
import type { NewFault } from "./generated/hey-control";

const [server, id] = process.argv.slice(2);

async function main(): Promise<void> {
  const control = createControl({ baseUrl: server });
  const created = await sandboxCreate({ client: control, body: { id, clock: { mode: "manual" }, seed: 7 } });
  const sandbox = created.data!;
  const body: NewFault = { effect: { type: "error", status: 503 }, match: { operation: "deposit-creation" }, times: 1 };
  const path = { s: id };
  const armed = await faultAdd({ client: control, path, body });
  if (armed.data?.effect.type !== "error") throw new Error(`not armed: ${JSON.stringify(armed)}`);

  const api = createClient({ baseUrl: server, auth: `${sandbox.business_key}:${sandbox.business_secret}` });
  const statuses: number[] = [];
  const headers = { "Idempotency-Key": randomUUID() };
  for (let attempt = 0; attempt < 2; attempt++) {
    const answer = await depositCreation({
      client: api,
      headers,
      body: {
        amount: 131072.99,
        currency: "EUR",
        external_identifier: "order-17",
        payment_method: { type: "CREDIT_CARD" },
        customer: { first_name: "Ada", last_name: "Lovelace", email: "ada@example.test" },
      },
    });
    statuses.push(answer.response!.status);
    if (attempt === 1 && answer.data?.data.amount !== 131072.99) throw new Error(JSON.stringify(answer));
  }
  const asked = await requestVerify({
    client: control,
    path,
    body: { match: { body: { amount: 131072.99 } }, count: 2 },
  });
  if (!asked.data?.passed) throw new Error(JSON.stringify(asked));
  console.log(statuses.join(" "));
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
