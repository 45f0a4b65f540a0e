// Each entry of clients/calls.yaml: the method of this client sends what the table says.
import { once } from "node:events";
import { existsSync, readFileSync } from "node:fs";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Paydouble, type Sandbox } from "paydouble";
import { afterAll, beforeAll, beforeEach, expect, test } from "vitest";
import { parse } from "yaml";

interface Entry {
  call: string;
  given?: Record<string, unknown>;
  sends: { method: string; path: string; query?: Record<string, string>; json?: unknown };
  operation: string;
}
interface Sent {
  method: string | undefined;
  path: string;
  query: Record<string, string>;
  json?: unknown;
}
// The arguments come from a file, so the methods are called without their types.
// eslint-disable-next-line @typescript-eslint/no-explicit-any
type Given = any;
/** The methods of this client, by their names in the table. */
type Methods = Record<string, (sandbox: Sandbox, given: Given) => unknown>;

const CLIENTS = new URL("../../", import.meta.url);
const read = (name: string) => readFileSync(new URL(name, CLIENTS), "utf8");
const ENTRIES = parse(read("calls.yaml")) as Entry[];
const GAPS = (parse(read("gaps.yaml")) as { node: string[] }).node;
const ANSWERS = JSON.parse(read("answers.json")) as Record<string, { status: number; json?: unknown; text?: string }>;

/* eslint-disable @typescript-eslint/no-unsafe-argument, @typescript-eslint/no-unsafe-assignment, @typescript-eslint/no-unsafe-member-access */
/** Amounts are JSON numbers in the table; this client takes decimal text. */
const exact = (members: Given): Given =>
  typeof members.amount === "number" ? { ...members, amount: String(members.amount) } : members;

const METHODS: Methods = {
  "server.health": () => server.health(),
  "server.sandbox": (_, given) => server.sandbox(given),
  "server.find": (_, { sandbox_id }) => server.find(sandbox_id),
  "server.sandboxes": (_, given) => server.sandboxes(given),
  "server.unclaimed_requests": () => server.unclaimedRequests(),
  "sandbox.read": (sandbox) => sandbox.read(),
  "sandbox.change": (sandbox, given) => sandbox.change(given),
  "sandbox.reset": (sandbox, given) => sandbox.reset(given),
  "sandbox.checkpoint": (sandbox) => sandbox.checkpoint(),
  "sandbox.fork": (sandbox, given) => sandbox.fork(given),
  "sandbox.export": (sandbox, { path }) => sandbox.export(join(folder, path)),
  "sandbox.export_text": (sandbox, given) => sandbox.exportText(given),
  "sandbox.delete": (sandbox) => sandbox.delete(),
  "clock.read": ({ clock }) => clock.read(),
  "clock.set": ({ clock }, { mode, ...rest }) => clock.set(Object.keys(rest).length > 0 ? { mode, ...rest } : mode),
  "clock.advance": ({ clock }, { by, limit, ...rest }) =>
    clock.advance(by ?? rest, limit === undefined ? {} : { limit }),
  "faults.add": ({ faults }, { effect, ...rest }) => faults.add(effect, rest),
  "faults.list": ({ faults }) => faults.list(),
  "faults.get": ({ faults }, { fault_id }) => faults.get(fault_id),
  "faults.change": ({ faults }, { fault_id, ...rest }) => faults.change(fault_id, rest),
  "faults.remove": ({ faults }, { fault_id }) => faults.remove(fault_id),
  "faults.clear": ({ faults }) => faults.clear(),
  "rate_limit.set": ({ rateLimit }, { limit, ...rest }) => rateLimit.set(limit, rest),
  "rate_limit.clear": ({ rateLimit }) => rateLimit.clear(),
  "requests.list": ({ requests }) => requests.list(),
  "requests.last": ({ requests }) => requests.last(),
  "requests.clear": ({ requests }) => requests.clear(),
  "requests.verify": ({ requests }, given) => requests.verify(given),
  "requests.wait": ({ requests }, given) => requests.wait(given),
  "events.list": ({ events }, given) => events.list(given),
  "events.last": ({ events }) => events.last(),
  "events.get": ({ events }, { event_id }) => events.get(event_id),
  "events.emit": ({ events }, { type, object_id }) => events.emit(type, object_id),
  "deliveries.list": ({ deliveries }, given) => deliveries.list(given),
  "deliveries.last": ({ deliveries }) => deliveries.last(),
  "deliveries.get": ({ deliveries }, { delivery_id }) => deliveries.get(delivery_id),
  "deliveries.redeliver": ({ deliveries }, { delivery_id }) => deliveries.redeliver(delivery_id),
  "deliveries.redeliver_failed": ({ deliveries }, { since }) =>
    deliveries.redeliverFailed(since === undefined ? undefined : new Date(since)),
  "deliveries.hold": ({ deliveries }, { delivery_id }) => deliveries.hold(delivery_id),
  "deliveries.release": ({ deliveries }, { delivery_id }) => deliveries.release(delivery_id),
  "deliveries.verify": ({ deliveries }, given) => deliveries.verify(given),
  "deliveries.wait": ({ deliveries }, given) => deliveries.wait(given),
  "webhook.read": ({ webhook }) => webhook.read(),
  "webhook.change": ({ webhook }, given) => webhook.change(given),
  "webhook.rotate_secret": ({ webhook }, { grace }) => webhook.rotateSecret(grace),
  "webhook.test": ({ webhook }, { type }) => webhook.test(type),
  "scenarios.list": ({ scenarios }) => scenarios.list(),
  "scenarios.get": ({ scenarios }, { name }) => scenarios.get(name),
  "scenarios.active": ({ scenarios }) => scenarios.active(),
  "scenarios.upload": ({ scenarios }, { scenario }) => scenarios.upload(scenario),
  "scenarios.activate": ({ scenarios }, { name }) => scenarios.activate(name),
  "scenarios.deactivate": ({ scenarios }) => scenarios.deactivate(),
  "scenarios.play": ({ scenarios }, { name, ...deposit }) => scenarios.play(name, exact(deposit)),
  "pay_ins.list": ({ payIns }) => payIns.list(),
  "pay_ins.get": ({ payIns }, { pay_in_id }) => payIns.get(pay_in_id),
  "pay_ins.timeline_html": ({ payIns }, { pay_in_id }) => payIns.timelineHtml(pay_in_id),
  "pay_ins.transition": ({ payIns }, { object_id, to, ...rest }) => payIns.transition(object_id, to, rest),
  "pay_ins.refund": ({ payIns }, { pay_in_id, ...rest }) => payIns.refund(pay_in_id, exact(rest)),
  "pay_ins.dispute": ({ payIns }, { pay_in_id, ...rest }) => payIns.dispute(pay_in_id, exact(rest)),
  "payer.pay": (sandbox, { pay_in }) => sandbox.payer(pay_in).pay(),
  "payer.decline": (sandbox, { pay_in, code }) => sandbox.payer(pay_in).decline(code),
  "payer.abandon": (sandbox, { pay_in }) => sandbox.payer(pay_in).abandon(),
  "refunds.transition": ({ refunds }, { object_id, to, ...rest }) => refunds.transition(object_id, to, rest),
  "disputes.transition": ({ disputes }, { object_id, to, ...rest }) => disputes.transition(object_id, to, rest),
  "payouts.transition": ({ payouts }, { object_id, to, ...rest }) => payouts.transition(object_id, to, rest),
};
/* eslint-enable */

let sent: Sent[] = [];
let operation = "health";
let server: Paydouble;
let folder: string;

// Records what is sent, and gives each operation the answer of answers.json.
const recorder = createServer((request, response) => {
  const chunks: Buffer[] = [];
  request.on("data", (chunk: Buffer) => chunks.push(chunk));
  request.on("end", () => {
    const url = new URL(request.url ?? "/", "http://recorder");
    const { limit: _limit, cursor: _cursor, ...query } = Object.fromEntries(url.searchParams);
    const body = Buffer.concat(chunks).toString();
    const path = url.pathname.replace(/^\/_paydouble/, "");
    sent.push({ method: request.method, path, query, ...(body === "" ? {} : { json: JSON.parse(body) as unknown }) });
    const answer = ANSWERS[operation];
    response.writeHead(answer?.status ?? 500).end(answer?.text ?? JSON.stringify(answer?.json));
  });
});

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), "paydouble-calls-"));
  recorder.listen(0, "127.0.0.1");
  await once(recorder, "listening");
  server = await Paydouble.connect(`http://127.0.0.1:${(recorder.address() as AddressInfo).port}`);
});
beforeEach(() => {
  sent = [];
});
afterAll(async () => {
  recorder.close();
  await rm(folder, { recursive: true });
});

test.for(ENTRIES.filter(({ call }) => !GAPS.includes(call)).map((entry, place) => ({ place, ...entry })))(
  "$place: $call sends what the table says",
  async ({ call, given = {}, sends, operation: wanted }) => {
    operation = "sandbox-create";
    const sandbox = await server.sandbox();
    sent = [];
    operation = wanted;

    await METHODS[call]?.(sandbox, given);

    const path = sends.path.replace("{sandbox}", encodeURIComponent(sandbox.id));
    expect(sent).toEqual([{ query: {}, ...sends, path }]);
  },
);

test("a method for each call of the table, except for the known gaps", () => {
  const calls = new Set(ENTRIES.map(({ call }) => call));

  expect(new Set([...Object.keys(METHODS), ...GAPS])).toEqual(calls);
  expect(GAPS.filter((call) => call in METHODS)).toEqual([]);
});

test("an export is the file that the server has written", async () => {
  operation = "sandbox-create";
  const sandbox = await server.sandbox();
  operation = "sandbox-export";

  await sandbox.export(join(folder, "run.paydouble"));

  expect(existsSync(join(folder, "run.paydouble"))).toBe(true);
  expect(await readFile(join(folder, "run.paydouble"), "utf8")).toBe(ANSWERS["sandbox-export"]?.text);
});
