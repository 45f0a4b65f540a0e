import { writeFile } from "node:fs/promises";
import { leased, segment, type Connection } from "./control.js";
import { ControlRefused, ServerGone } from "./errors.js";
import {
  Clock,
  Deliveries,
  Events,
  Faults,
  Objects,
  Payer,
  PayIns,
  RateLimit,
  Requests,
  Scenarios,
  Webhook,
} from "./handles.js";
import type { AnswerOf, ForkOptions, Resource, SandboxChanges, Schemas } from "./schemas.js";
import { timeline } from "./timeline.js";

/** An isolated business of a server. `await using` deletes it at the end. */
export class Sandbox implements AsyncDisposable {
  readonly id: string;
  /** The URL of the API as this process reaches it; it ends with `/api/v1`. */
  readonly baseUrl: string;
  /** What the code under test authenticates with; its key picks this sandbox. */
  readonly businessKey: string;
  readonly businessSecret: string;
  /** What signs its events, unless a test has rotated it since. */
  readonly webhookSecret: string;
  readonly seed: number;
  readonly clock: Clock;
  readonly faults: Faults;
  readonly rateLimit: RateLimit;
  readonly requests: Requests;
  readonly events: Events;
  readonly deliveries: Deliveries;
  readonly scenarios: Scenarios;
  readonly webhook: Webhook;
  readonly payIns: PayIns;
  readonly refunds: Objects;
  readonly disputes: Objects;
  readonly payouts: Objects;
  readonly #connection: Connection;
  readonly #path: string;

  /** Made by `Paydouble` and `fork`, from what the server has shown. */
  constructor(connection: Connection, state: Schemas["Sandbox"]) {
    this.#connection = connection;
    this.#path = `/sandboxes/${segment(state.id)}`;
    this.id = state.id;
    this.baseUrl = state.base_url;
    this.businessKey = state.business_key;
    this.businessSecret = state.business_secret;
    this.webhookSecret = state.webhook_secret;
    this.seed = state.seed;
    this.clock = new Clock(connection, `${this.#path}/clock`);
    this.faults = new Faults(connection, `${this.#path}/faults`);
    this.rateLimit = new RateLimit(connection, `${this.#path}/rate-limit`);
    this.requests = new Requests(connection, `${this.#path}/requests`);
    this.events = new Events(connection, `${this.#path}/events`);
    this.deliveries = new Deliveries(connection, `${this.#path}/deliveries`);
    this.scenarios = new Scenarios(connection, `${this.#path}/scenarios`);
    this.webhook = new Webhook(connection, `${this.#path}/webhook`);
    this.payIns = new PayIns(connection, `${this.#path}/pay-ins`);
    this.refunds = new Objects(connection, `${this.#path}/refunds`);
    this.disputes = new Objects(connection, `${this.#path}/disputes`);
    this.payouts = new Objects(connection, `${this.#path}/payouts`);
  }

  /** The value of the `Authorization` header of its business. */
  get authorization(): string {
    return `Basic ${Buffer.from(`${this.businessKey}:${this.businessSecret}`).toString("base64")}`;
  }

  /** Return the payer of a pay-in, which is given by its id or as another call has returned it. */
  payer(payIn: string | Resource): Payer {
    const id = typeof payIn === "string" ? payIn : payIn.id;
    return new Payer(this.#connection, `${this.#path}/pay-ins/${segment(id)}/payer`);
  }

  /** Make any call below the sandbox, such as `call("GET", "/clock")`, and return its JSON. */
  call<Answer = unknown>(method: string, path: string, json?: unknown): Promise<Answer> {
    return this.#connection.call(method, `${this.#path}${path}`, json);
  }

  /** Return it as it is now. */
  read(): Promise<Schemas["Sandbox"]> {
    return this.call("GET", "");
  }

  /** Change where events go (null: nowhere), the default scenario, settings, the lease, or labels. */
  change(members: SandboxChanges): Promise<Schemas["Sandbox"]> {
    return this.call("PATCH", "", leased(members));
  }

  /** Reset everything, or the given scope; returns how much of each was removed. */
  async reset(options: Schemas["Reset"] = {}): Promise<AnswerOf<"sandbox-reset">["removed"]> {
    return (await this.call<AnswerOf<"sandbox-reset">>("POST", "/reset", options)).removed;
  }

  /** Keep it as it is now, and return the id of the checkpoint, for `fork`. */
  async checkpoint(): Promise<string> {
    return (await this.call<AnswerOf<"sandbox-checkpoint">>("POST", "/checkpoint", {})).id;
  }

  /** Return a sandbox that goes on from where this one is now, or was at a checkpoint. */
  async fork(options: ForkOptions = {}): Promise<Sandbox> {
    return new Sandbox(this.#connection, await this.call("POST", "/fork", leased(options)));
  }

  /** Write its run to a file for `paydouble replay` and `show`; personal data is replaced unless it is `raw`. */
  async export(path: string, options: { raw?: boolean } = {}): Promise<void> {
    await writeFile(path, await this.exportText(options));
  }

  /** Return the lines of the file that `export` writes. */
  exportText({ raw = false }: { raw?: boolean } = {}): Promise<string> {
    return this.#connection.text("POST", `${this.#path}/export`, { raw });
  }

  /** Return what has happened, line by line, oldest first; then what became of the faults. */
  timeline(): Promise<string> {
    return timeline(this);
  }

  /** Delete it, and cancel its pending work. `ControlRefused` when that was done before; `await using` accepts that. */
  async delete(): Promise<void> {
    await this.call("DELETE", "");
  }

  /** Delete it, unless a test has done so or the server has ended. */
  async [Symbol.asyncDispose](): Promise<void> {
    try {
      await this.delete();
    } catch (error) {
      if (!(error instanceof ServerGone) && !(error instanceof ControlRefused && error.status === 404)) throw error;
    }
  }
}
