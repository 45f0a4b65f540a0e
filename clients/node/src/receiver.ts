import { EventEmitter, once } from "node:events";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { setTimeout as sleep } from "node:timers/promises";
import { parseExact } from "./control.js";
import { NotAsExpected } from "./errors.js";
import { checkSecret, SIGNATURE_HEADER, SignatureError, verifySignature } from "./signature.js";

const KEPT = 10_000;
const SHOWN = 20;

/** One delivery as it arrived, and what it was answered. */
export interface Received {
  path: string;
  headers: IncomingMessage["headers"];
  /** The exact bytes, which are what is signed. */
  body: Buffer;
  /** The body as JSON, its amounts as decimal text; empty when it is not a JSON object. */
  event: { id?: string; type?: string; [member: string]: unknown };
  /** Why the signature does not verify, if it does not. */
  error: SignatureError | undefined;
  /** How many times this event has now come; 0 when it does not verify. */
  attempt: number;
  /** Whether this event was answered with a 2xx before. */
  duplicate: boolean;
  /** The status that it got; 0 for no answer. */
  answered: number;
}

/** A status; `"hang"` never answers; `"crash"` closes the connection; `after` delays an answer, in milliseconds. */
export type Answer = number | "hang" | "crash" | { status?: number; after: number };
/** An answer, or a function that handles the delivery and returns one; undefined is 200, and an exception 500. */
export type Answering = Answer | ((delivery: Received) => Answer | undefined | Promise<Answer | undefined>);

/** Where a receiver listens. */
export interface ReceiverOptions {
  /** What the sender signs with. */
  secret: string;
  host?: string;
  /** A free one unless given. */
  port?: number;
  /** The name of this machine as the sender sees it, such as `host.docker.internal`; it then listens on all addresses. */
  reachableAs?: string | undefined;
}

/** Receives webhooks at its own port, verifies them, keeps their bytes, and gives programmed answers. */
export class WebhookReceiver implements AsyncDisposable {
  /** What it verifies with; set it after a rotation. */
  secret: string;
  /** The status after the programmed answers. */
  status = 200;
  /** The newest 10 000 deliveries, oldest first, refused ones included. */
  readonly received: Received[] = [];
  /** What functions that should have answered have thrown; a 500 was answered for each. */
  readonly failures: unknown[] = [];
  readonly #arrivals = new EventEmitter().setMaxListeners(0);
  readonly #answers: Answering[] = [];
  readonly #times = new Map<string, number>();
  readonly #taken = new Set<string>();
  readonly #server: Server;
  readonly #host: string;
  #isDown = false;

  private constructor({ secret, host, reachableAs }: ReceiverOptions) {
    checkSecret(secret);
    this.secret = secret;
    this.#host = reachableAs ?? host ?? "127.0.0.1";
    this.#server = createServer((request, response) => {
      this.#handle(request, response).catch(() => response.destroy());
    });
    this.#server.on("connection", (socket) => {
      if (this.#isDown) socket.resetAndDestroy();
    });
  }

  /** Start one; it listens when this returns. */
  static async listen(options: ReceiverOptions): Promise<WebhookReceiver> {
    const receiver = new WebhookReceiver(options);
    const host = options.host ?? (options.reachableAs === undefined ? "127.0.0.1" : "0.0.0.0");
    receiver.#server.listen(options.port ?? 0, host);
    await once(receiver.#server, "listening");
    return receiver;
  }

  /** Where the sender delivers. */
  get url(): string {
    const { port } = this.#server.address() as AddressInfo;
    return `http://${this.#host.includes(":") ? `[${this.#host}]` : this.#host}:${port}/`;
  }

  /** Answer the next verified deliveries with these, each once and in order. */
  answerNext(...answers: Answering[]): void {
    this.#answers.push(...answers);
  }

  /** Answer the next `times` verified deliveries with an error. */
  fail(times: number, status = 503): void {
    this.answerNext(...Array<number>(times).fill(status));
  }

  /** Answer the next `times` verified deliveries late, by milliseconds of real time. */
  slow(after: number, times = 1): void {
    this.answerNext(...Array<Answer>(times).fill({ after }));
  }

  /** Reset every connection until `up`, open ones included. The port stays taken, so that no other process gets it. */
  down(): void {
    this.#isDown = true;
    this.#server.closeAllConnections();
  }

  /** Answer again. */
  up(): void {
    this.#isDown = false;
  }

  /** Remove what was received; ids of accepted events stay known. */
  clear(): void {
    this.received.length = 0;
  }

  /**
   * Return all deliveries as soon as there are `wanted`, or one that the predicate accepts; `NotAsExpected`, with what
   * came instead, after `timeout` milliseconds of real time.
   */
  async wait(wanted: number | ((delivery: Received) => boolean) = 1, timeout = 5_000): Promise<readonly Received[]> {
    const enough = () => (typeof wanted === "number" ? this.received.length >= wanted : this.received.some(wanted));
    const signal = AbortSignal.timeout(timeout);
    while (!enough()) {
      try {
        await once(this.#arrivals, "arrival", { signal });
      } catch {
        // eslint-disable-next-line @typescript-eslint/unbound-method -- it is named, not called
        throw new NotAsExpected(this.#explain(wanted, timeout), this.wait);
      }
    }
    return [...this.received];
  }

  /** Stop it, and free the port. */
  async close(): Promise<void> {
    const closed = once(this.#server, "close");
    this.#server.close();
    this.#server.closeAllConnections();
    await closed;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    if (this.#server.listening) await this.close();
  }

  async #handle(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const chunks: Buffer[] = [];
    for await (const chunk of request) chunks.push(chunk as Buffer);
    const delivery = this.#judge(request, Buffer.concat(chunks));
    const answer = delivery.error === undefined ? await this.#decide(delivery) : delivery.error.status;
    const { status = 200, after = 0 } = typeof answer === "object" ? answer : { status: answer };
    delivery.answered = typeof status === "number" ? status : 0;
    const isTaken = delivery.error === undefined && delivery.answered >= 200 && delivery.answered < 300;
    if (isTaken && delivery.event.id !== undefined) this.#taken.add(delivery.event.id);
    this.received.push(delivery);
    this.received.splice(0, this.received.length - KEPT);
    this.#arrivals.emit("arrival");
    if (after > 0) await sleep(after);
    if (status === "crash") request.socket.resetAndDestroy();
    else if (status !== "hang") response.writeHead(status).end();
  }

  #judge(request: IncomingMessage, body: Buffer): Received {
    const delivery: Received = {
      path: request.url ?? "/",
      headers: request.headers,
      body,
      event: parsed(body),
      error: undefined,
      attempt: 0,
      duplicate: false,
      answered: 0,
    };
    try {
      verifySignature(body, request.headers[SIGNATURE_HEADER]?.toString(), this.secret);
    } catch (error) {
      if (!(error instanceof SignatureError)) throw error;
      return { ...delivery, error };
    }
    const { id } = delivery.event;
    if (id === undefined) return { ...delivery, attempt: 1 }; // signed, but not an event
    const attempt = (this.#times.get(id) ?? 0) + 1;
    this.#times.set(id, attempt);
    return { ...delivery, attempt, duplicate: this.#taken.has(id) };
  }

  async #decide(delivery: Received): Promise<Answer> {
    const answer = this.#answers.shift() ?? this.status;
    if (typeof answer !== "function") return answer;
    try {
      return (await answer(delivery)) ?? 200;
    } catch (error) {
      this.failures.push(error);
      return 500;
    }
  }

  #explain(wanted: unknown, timeout: number): string {
    const what = typeof wanted === "number" ? `${wanted} deliveries` : "a delivery that the predicate accepts";
    const came = this.received.length.toString();
    return [
      `expected ${what} at ${this.url} within ${timeout} ms, received ${came}`,
      ...this.received.slice(-SHOWN).map((each) => `  ${describe(each)}`),
      ...this.failures.slice(-SHOWN).map((each) => `  a function that answers has thrown ${String(each)}`),
      ...(came === "0"
        ? ["  is the sandbox's notification_url this receiver's, and has its clock been advanced?"]
        : []),
    ].join("\n");
  }
}

function parsed(body: Buffer): Received["event"] {
  try {
    const event = parseExact(body.toString());
    return event instanceof Object && !Array.isArray(event) ? (event as Received["event"]) : {};
  } catch {
    return {};
  }
}

function describe({ event, body, error, attempt, answered }: Received): string {
  const kind = event.type ?? `${body.length} bytes that are no event`;
  if (error !== undefined) return `${kind}: ${error.message} (answered ${answered})`;
  return `${kind}, attempt ${attempt}: answered ${answered === 0 ? "nothing" : answered}`;
}
