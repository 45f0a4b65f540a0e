import { startChild } from "./child.js";
import { Connection, leased, segment } from "./control.js";
import { ServerNotFound } from "./errors.js";
import { WebhookReceiver, type ReceiverOptions } from "./receiver.js";
import { Sandbox } from "./sandbox.js";
import type { AnswerOf, SandboxOptions, Schemas } from "./schemas.js";

/** How to find or start a server. */
export interface StartOptions {
  /** An image to run with Testcontainers; `PAYDOUBLE_IMAGE` unless given. */
  image?: string | undefined;
  /** Further options for `paydouble serve`, such as `["--rate", "60"]`, when it is started as a child process. */
  options?: readonly string[];
  /** The command; `paydouble` on the PATH unless given. */
  command?: string;
}

/** How to reach a server. */
export interface ConnectOptions {
  /** Its control token; `PAYDOUBLE_CONTROL_TOKEN` unless given. */
  token?: string | undefined;
  /** The name of this machine as the server sees it, for receivers; `PAYDOUBLE_RECEIVER_HOST` unless given. */
  receiverHost?: string | undefined;
  /** What `close` ends; nothing unless given. */
  onClose?: () => Promise<unknown>;
}

/** A server, here or elsewhere. `await using` closes it at the end. */
export class Paydouble implements AsyncDisposable {
  /** Its address, without a path. */
  readonly url: string;
  /** The name of this machine as the server sees it; undefined when the server runs on this machine. */
  readonly receiverHost: string | undefined;
  readonly #connection: Connection;
  #onClose: (() => Promise<unknown>) | undefined;

  private constructor(url: string, options: ConnectOptions) {
    this.#connection = new Connection(url, options.token ?? variable("PAYDOUBLE_CONTROL_TOKEN"));
    this.url = this.#connection.url;
    this.receiverHost = options.receiverHost ?? variable("PAYDOUBLE_RECEIVER_HOST");
    this.#onClose = options.onClose;
  }

  /**
   * Use the server at `PAYDOUBLE_URL`, or else start one: in a container when an image is named, or else as a child
   * process. `close` ends what was started, and so does the end of this process.
   */
  static async start({ image, options = [], command = "paydouble" }: StartOptions = {}): Promise<Paydouble> {
    const url = variable("PAYDOUBLE_URL");
    if (url !== undefined) return await Paydouble.connect(url);
    const named = image ?? variable("PAYDOUBLE_IMAGE");
    if (named !== undefined) return await startContainer(named);
    const child = await startChild(command, options);
    if (child !== undefined) return await Paydouble.connect(child.url, { onClose: child.close });
    throw new ServerNotFound(
      `no paydouble server: PAYDOUBLE_URL is not set, PAYDOUBLE_IMAGE names no image, and there is no command ${command}. ` +
        "Set PAYDOUBLE_URL to the address of a running server, or PAYDOUBLE_IMAGE to an image (with the package " +
        "testcontainers installed), or put `paydouble` on the PATH (docs/how-to/get-the-command.md).",
    );
  }

  /**
   * Use a server that runs elsewhere, the one at `PAYDOUBLE_URL` unless given. `ServerGone` when it does not answer,
   * `PaydoubleError` when the address is no URL, or that of something else.
   */
  static async connect(url = variable("PAYDOUBLE_URL"), options: ConnectOptions = {}): Promise<Paydouble> {
    if (url === undefined) throw new ServerNotFound("no paydouble server: give an address, or set PAYDOUBLE_URL");
    const server = new Paydouble(url, options);
    await server.health();
    return server;
  }

  /** Make any call of the control API, such as `call("GET", "/health")`, and return its JSON. */
  call<Answer = unknown>(method: string, path: string, json?: unknown): Promise<Answer> {
    return this.#connection.call(method, path, json);
  }

  /** Return its health. */
  health(): Promise<AnswerOf<"health">> {
    return this.call("GET", "/health");
  }

  /** Make an isolated business; the server chooses what is left out. */
  async sandbox(options: SandboxOptions = {}): Promise<Sandbox> {
    return new Sandbox(this.#connection, await this.call("POST", "/sandboxes", leased(options)));
  }

  /** Return an existing sandbox. */
  async find(sandboxId = "default"): Promise<Sandbox> {
    return new Sandbox(this.#connection, await this.call("GET", `/sandboxes/${segment(sandboxId)}`));
  }

  /** Return all sandboxes, or those that have all of some labels. */
  async sandboxes({ labels = {} }: { labels?: Record<string, string> } = {}): Promise<Sandbox[]> {
    const wanted = Object.entries(labels).map(([name, value]) => `${name}:${value}`);
    const query = wanted.length > 0 ? { label: wanted.join(",") } : {};
    const states = await this.#connection.all<Schemas["Sandbox"]>("/sandboxes", query);
    return states.map((state) => new Sandbox(this.#connection, state));
  }

  /** Return the newest requests whose business key no sandbox has. */
  unclaimedRequests(): Promise<Schemas["UnclaimedRequest"][]> {
    return this.#connection.all("/unclaimed-requests");
  }

  /** Start a receiver that the server reaches, and send a sandbox's events to it. */
  async receiver(sandbox: Sandbox, options: Omit<ReceiverOptions, "secret"> = {}): Promise<WebhookReceiver> {
    const receiver = await WebhookReceiver.listen({
      secret: sandbox.webhookSecret,
      reachableAs: this.receiverHost,
      ...options,
    });
    await sandbox.change({ notification_url: receiver.url });
    return receiver;
  }

  /** End the server, if it was started here. */
  async close(): Promise<void> {
    const onClose = this.#onClose;
    this.#onClose = undefined;
    await onClose?.();
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

async function startContainer(image: string): Promise<Paydouble> {
  const entry = await import("./testcontainers.js").catch((error: unknown) => {
    const message = `the image ${image} needs the package testcontainers: npm install --save-dev testcontainers`;
    throw new ServerNotFound(message, { cause: error });
  });
  return await (await new entry.PaydoubleContainer(image).start()).connect();
}

function variable(name: string): string | undefined {
  const value = process.env[name];
  // CI systems pass a variable that is not set as an empty one.
  return value === "" ? undefined : value;
}
