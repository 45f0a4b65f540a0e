// What happened in a sandbox, as lines for the report of a failed test.
import type { Sandbox } from "./sandbox.js";
import type { Schemas } from "./schemas.js";

const MOST_ROWS = 200;
const LONGEST_REFUSAL = 200;
const UNITS = [
  ["d", 86_400_000],
  ["h", 3_600_000],
  ["m", 60_000],
  ["s", 1_000],
  ["ms", 1],
] as const;

interface Row {
  sequence: number;
  at: string;
  who: "merchant →" | "service" | "→ merchant";
  what: string;
  result: string;
}

/** Return what has happened in a sandbox, oldest first, and what became of its faults. */
export async function timeline(sandbox: Sandbox): Promise<string> {
  const [requests, events, deliveries, faults] = await Promise.all([
    sandbox.requests.list(),
    sandbox.events.list(),
    sandbox.deliveries.list(),
    sandbox.faults.list(),
  ]);
  const orders = new Map(events.map(({ object_id, body }) => [object_id, orderOf(body) ?? object_id]));
  const rows: Row[] = [
    ...requests.map(requestRow),
    ...events.map((event) => eventRow(event, orders, deliveries)),
    ...deliveries.flatMap((delivery) => delivery.attempts.map((attempt) => attemptRow(delivery, attempt, orders))),
  ];
  // The sequence numbers give the order; on a manual clock many things have the same time.
  rows.sort((one, other) => one.sequence - other.sequence);
  const shown = rows.slice(-MOST_ROWS);
  const begin = Date.parse(rows[0]?.at ?? "");
  const lines = shown.map(({ at, who, what, result }) =>
    `${elapsed(Date.parse(at) - begin).padEnd(9)} ${who.padEnd(10)}  ${what}  ${result}`.trimEnd(),
  );
  if (rows.length === 0) lines.push("nothing has happened: no request came with its business key");
  if (rows.length > shown.length) lines.unshift(`… ${rows.length - shown.length} earlier lines are left out`);
  lines.push(...faults.map(faultLine));
  // What others have sent must not control the terminal.
  return lines.map((line) => line.replace(/\p{Cc}/gu, "?")).join("\n");
}

function requestRow({ sequence, at, method, target, body, status, response_body, ...rest }: Schemas["Request"]): Row {
  const what = [method, target.replace(/^\/api\/v1/, ""), orderOf(body)].filter(Boolean).join(" ");
  const verdict = rest.idempotency.verdict === "none" ? "" : ` ${rest.idempotency.verdict}`;
  const refusal = (status ?? 0) >= 400 ? ` ${refusalOf(response_body)}` : "";
  const result = `${status ?? "no answer"}${verdict}${acted(rest.faults)}${refusal}`;
  return { sequence, at, who: "merchant →", what, result };
}

function eventRow(event: Schemas["Event"], orders: Map<string, string>, deliveries: Schemas["Delivery"][]): Row {
  const { sequence, created_at: at, type, object_id } = event;
  // How it left, where its attempts do not say it.
  const silent = deliveries.filter((each) => each.event_id === event.id && each.attempts.length === 0);
  const result = silent.map(({ status, faults }) => `${status}${acted(faults)}`).join(", ");
  return { sequence, at, who: "service", what: `${type} ${orders.get(object_id) ?? object_id}`, result };
}

function attemptRow(delivery: Schemas["Delivery"], attempt: Schemas["Attempt"], orders: Map<string, string>): Row {
  const { event_type, object_id } = delivery;
  const { sequence, due_at: at, number, status, error, faults } = attempt;
  const what = `${event_type} ${orders.get(object_id) ?? object_id}, attempt ${number}`;
  return { sequence, at, who: "→ merchant", what, result: `${status ?? error?.kind ?? "in flight"}${acted(faults)}` };
}

function faultLine({ id, effect, times_fired: fired, times_matched: matched }: Schemas["Fault"]): string {
  const times = (count: number) => (count === 1 ? "once" : `${count} times`);
  const outcome =
    fired > 0 ? `fired ${times(fired)}` : `never fired; it matched ${matched > 0 ? times(matched) : "nothing"}`;
  return `fault ${id} (${effect.type}) ${outcome}`;
}

function acted(faults: string[]): string {
  return faults.length > 0 ? ` (${faults.join(", ")})` : "";
}

/** Return code and message of a refusal, or the beginning of another body. */
function refusalOf(body: Schemas["Bytes"]): string {
  const found = document(body);
  const { code, message } = (found["error"] ?? found) as Record<string, unknown>;
  return typeof message === "string" ? `${String(code)}: ${message}` : text(body).slice(0, LONGEST_REFUSAL);
}

/** Return the merchant's name for the payment that a body is about, if it has one. */
function orderOf(body: Schemas["Bytes"]): string | undefined {
  const found = document(body);
  const data = found["data"] as { object?: Record<string, unknown> } | null | undefined;
  const name = (data?.object ?? found)["external_identifier"];
  return typeof name === "string" ? name : undefined;
}

/** Return a body as a JSON object, which is empty when the body is none. */
function document(body: Schemas["Bytes"]): Record<string, unknown> {
  try {
    return Object(JSON.parse(text(body))) as Record<string, unknown>;
  } catch {
    return {};
  }
}

function text(bytes: Schemas["Bytes"]): string {
  return typeof bytes === "string" ? bytes : Buffer.from(bytes.base64, "base64").toString("latin1");
}

/** Return a length of time such as `+2d2h` or `+1s500ms`. */
function elapsed(milliseconds: number): string {
  let rest = milliseconds;
  const parts = UNITS.map(([unit, length]) => {
    const count = Math.floor(rest / length);
    rest -= count * length;
    return count > 0 ? `${count}${unit}` : "";
  });
  return `+${parts.join("") || "0s"}`;
}
