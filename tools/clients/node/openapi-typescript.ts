// A fault armed, and met, with openapi-fetch over the types that openapi-typescript makes.
import { randomUUID } from "node:crypto";
import createClient from "openapi-fetch";
import type { paths as Api } from "./generated/api";
import type { components, paths as Control } from "./generated/control";

const [server, id] = process.argv.slice(2);

async function main(): Promise<void> {
  const control = createClient<Control>({ baseUrl: server });
  const created = await control.POST("/_paydouble/sandboxes", { body: { id, clock: "manual", seed: 7 } });
  const sandbox = created.data!;
  const fault: components["schemas"]["NewFault"] = {
    effect: { type: "error", status: 503 },
    match: { operation: "deposit-creation" },
    times: 1,
  };
  const path = { s: id };
  const armed = await control.POST("/_paydouble/sandboxes/{s}/faults", { params: { path }, body: fault });
  if (armed.data?.effect.type !== "error") throw new Error(`not armed: ${JSON.stringify(armed)}`);

  const basic = Buffer.from(`${sandbox.business_key}:${sandbox.business_secret}`).toString("base64");
  const api = createClient<Api>({ baseUrl: server, headers: { Authorization: `Basic ${basic}` } });
  const statuses: number[] = [];
  const header = { "Idempotency-Key": randomUUID() };
  for (let attempt = 0; attempt < 2; attempt++) {
    const answer = await api.POST("/api/v1/pay-in/deposit-creation", {
      params: { header },
      body: {
        amount: 131072.99,
        currency: "EUR",
        external_identifier: "order-17",
        payment_method: { type: "CREDIT_CARD" },
        customer: { first_name: "Ada", last_name: "Lovelace", email: "ada@example.test" },
      },
    });
    statuses.push(answer.response.status);
    if (attempt === 1 && answer.data?.data.amount !== 131072.99) throw new Error(JSON.stringify(answer));
  }
  const asked = await control.POST("/_paydouble/sandboxes/{s}/requests/verify", {
    params: { path },
    body: { match: { body: { amount: 131072.99 } }, count: 2 },
  });
  if (!asked.data?.passed) throw new Error(JSON.stringify(asked));
  console.log(statuses.join(" "));
}

main().catch((error) => {
  console.error(error);
  process.exit(1);
});
