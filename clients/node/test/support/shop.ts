// The code under test of these tests: one deposit, over `fetch`.
import { randomUUID } from "node:crypto";
import type { Sandbox } from "paydouble";

export type Service = Pick<Sandbox, "baseUrl" | "authorization">;

/** Ask for a deposit once; the same key makes it the same request. */
export function deposit(service: Service, order: string, key: string = randomUUID(), amount = 49.9): Promise<Response> {
  return fetch(`${service.baseUrl}/pay-in/deposit-creation`, {
    method: "POST",
    headers: { Authorization: service.authorization, "Content-Type": "application/json", "Idempotency-Key": key },
    body: JSON.stringify({
      amount,
      currency: "EUR",
      external_identifier: order,
      payment_method: { type: "CREDIT_CARD" },
      customer: { first_name: "Ada", last_name: "Lovelace", email: "ada@example.test" },
    }),
  });
}
