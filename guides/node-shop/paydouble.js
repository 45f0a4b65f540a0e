// The few calls of paydouble's control API that these tests need; any HTTP client does.

const SERVER = process.env.PAYDOUBLE_URL ?? "http://127.0.0.1:8080";

async function control(method, path, body) {
  const response = await fetch(`${SERVER}/_paydouble${path}`, {
    method,
    headers: { "Content-Type": "application/json" },
    body: body && JSON.stringify(body),
  });
  const answer = await response.json();
  if (!response.ok) throw new Error(`${method} ${path}: ${answer.error?.message ?? response.status}`);
  return answer;
}

// Makes a business of its own for a test, on a clock that stands until it is moved.
export async function makeSandbox(options = {}) {
  const made = await control("POST", "/sandboxes", { clock: "manual", ...options });
  const path = `/sandboxes/${made.id}`;
  return {
    baseUrl: `${SERVER}/api/v1`,
    key: made.business_key,
    secret: made.business_secret,
    webhookSecret: made.webhook_secret,
    sendWebhooksTo: (url) => control("PATCH", path, { notification_url: url }),
    addFault: (effect, rest = {}) => control("POST", `${path}/faults`, { effect, ...rest }),
    clearFaults: () => control("DELETE", `${path}/faults`),
    advance: (by) => control("POST", `${path}/clock/advance`, { by }),
    events: async (type) => (await control("GET", `${path}/events?type=${type}`)).items,
    attempts: async () => (await control("GET", `${path}/deliveries`)).items.flatMap((each) => each.attempts),
    remove: () => control("DELETE", path),
  };
}
