import type { Sandbox } from "./sandbox.js";
import type { Schemas } from "./schemas.js";

const MOST_ROWS = 200;
const LONGEST_REFUSAL = 200;

/** Return what has happened in a sandbox, oldest first, and what became of its faults. */
export async function timeline(sandbox: Sandbox): Promise<string> {
  const [requests, events, deliveries, faults] = await Promise.all([
    sandbox.requests.list(),
    sandbox.events.list(),
    sandbox.deliveries.list(),
    sandbox.faults.list(),
  ]);
  // The sequence numbers give the order; on a manual clock many things have the same time.
  const rows = [
    ...requests.map((request) => ({ sequence: request.sequence, text: requestRow(request) })),
    ...events.map((event) => ({
      sequence: event.sequence,
      text: `${event.created_at}  event    ${event.type} ${event.object_id}`,
    })),
    ...deliveries.flatMap((delivery) =>
      delivery.attempts.map((attempt) => ({ sequence: attempt.sequence, text: attemptRow(delivery, attempt) })),
    ),
  ].sort((one, other) => one.sequence - other.sequence);
  const lines = rows.slice(-MOST_ROWS).map((row) => row.text);
  if (rows.length === 0) lines.push("nothing has happened: no request came with its business key");
  if (rows.length > lines.length) lines.unshift(`… ${rows.length - lines.length} earlier lines are left out`);
  lines.push(...faults.map(faultRow));
  // What others have sent must not control the terminal.
  return lines.map((line) => line.replace(/\p{Cc}/gu, "?")).join("\n");
}

function requestRow(request: Schemas["Request"]): string {
  const { verdict } = request.idempotency;
  const status = request.status === null ? "no answer" : request.status.toString();
  const refusal = (request.status ?? 0) >= 400 ? ` ${text(request.response_body).slice(0, LONGEST_REFUSAL)}` : "";
  return `${request.at}  request  ${request.method} ${request.target} -> ${status}${verdict === "none" ? "" : ` ${verdict}`}${fired(request.faults)}${refusal}`;
}

function attemptRow(delivery: Schemas["Delivery"], attempt: Schemas["Attempt"]): string {
  const outcome =
    attempt.status?.toString() ?? (attempt.error ? `${attempt.error.kind}: ${attempt.error.message}` : "in flight");
  return `${attempt.due_at}  webhook  ${delivery.event_type} attempt ${attempt.number} -> ${outcome}${fired(attempt.faults)}`;
}

function faultRow(fault: Schemas["Fault"]): string {
  const times = fault.times_fired === 1 ? "once" : `${fault.times_fired} times`;
  const outcome = fault.times_fired > 0 ? `fired ${times}` : `never fired (it matched ${fault.times_matched} times)`;
  return `fault ${fault.id} (${fault.effect.type}) ${outcome}`;
}

function fired(faults: string[]): string {
  return faults.length > 0 ? ` (${faults.join(", ")})` : "";
}

function text(bytes: Schemas["Bytes"]): string {
  return typeof bytes === "string" ? bytes : Buffer.from(bytes.base64, "base64").toString("latin1");
}
