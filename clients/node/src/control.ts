import { request as http, type RequestOptions } from "node:http";
import { request as https } from "node:https";
import { ControlRefused, PaydoubleError, ServerGone } from "./errors.js";
import type { Amount, Duration } from "./schemas.js";

/** The address of a server, and the calls of its control API. */
export class Connection {
  readonly url: string;
  readonly #token: string | undefined;

  /** `url` has no path, such as `http://localhost:8080`; the token is the server's control token. */
  constructor(url: string, token?: string) {
    this.url = url.trim().replace(/\/+$/, "");
    if (!isAddress(this.url)) {
      throw new PaydoubleError(`'${url}' is not a server's URL; write it like http://localhost:8080`);
    }
    this.#token = token;
  }

  /** Make a call, and return its JSON. `ControlRefused` when it cannot be carried out, `ServerGone` without an answer. */
  async call<Answer>(method: string, path: string, json?: unknown): Promise<Answer> {
    return this.#parse(await this.text(method, path, json), JSON.parse) as Answer;
  }

  /** Like `call`, with amounts as decimal text, each digit as it was sent. */
  async resource<Answer>(method: string, path: string, json?: unknown): Promise<Answer> {
    return this.#parse(await this.text(method, path, json), parseExact) as Answer;
  }

  /** Return all items of a list, page by page. */
  async all<Item>(path: string, query: Record<string, string | undefined> = {}, exact = false): Promise<Item[]> {
    const search = new URLSearchParams({ limit: "1000" });
    for (const [name, value] of Object.entries(query)) if (value !== undefined) search.set(name, value);
    const items: Item[] = [];
    for (;;) {
      const target = `${path}?${search.toString()}`;
      const page = await this[exact ? "resource" : "call"]<{ items: Item[]; next_cursor: string | null }>(
        "GET",
        target,
      );
      items.push(...page.items);
      if (page.next_cursor === null) return items;
      search.set("cursor", page.next_cursor);
    }
  }

  /** Make a call, and return the text of its answer. */
  async text(method: string, path: string, json?: unknown): Promise<string> {
    const [status, text] = await this.#exchange(method, path, json === undefined ? undefined : JSON.stringify(json));
    if (status < 400) return text;
    throw refusal(status, text) ?? this.#stranger();
  }

  #parse(text: string, parse: (text: string) => unknown): unknown {
    try {
      return parse(text);
    } catch {
      throw this.#stranger();
    }
  }

  #stranger(): PaydoubleError {
    return new PaydoubleError(`the server at ${this.url} does not answer as paydouble does; is the address right?`);
  }

  async #exchange(method: string, path: string, body: string | undefined): Promise<[number, string]> {
    const target = new URL(`${this.url}/_paydouble${path}`);
    const headers: Record<string, string | number> = {};
    if (this.#token !== undefined) headers["Authorization"] = `Bearer ${this.#token}`;
    if (body !== undefined) headers["Content-Type"] = "application/json";
    if (body !== undefined) headers["Content-Length"] = Buffer.byteLength(body);
    try {
      return await exchange(target, { method, headers }, body);
    } catch (error) {
      // Made here and not in a callback of the request: this stack leads to the line of the test.
      const reason = (error as Error).message.trim() || String(error);
      const message = `no server answers at ${this.url} (${reason}); is it running, and at this address?`;
      throw new ServerGone(message, { cause: error });
    }
  }
}

// Not with `fetch`: it gives up after five minutes without an answer, and test environments replace it.
function exchange(target: URL, options: RequestOptions, body: string | undefined): Promise<[number, string]> {
  const send = target.protocol === "https:" ? https : http;
  return new Promise((resolve, reject) => {
    // A connection for each call: a kept one may be closed by the server in the moment in which it is used again.
    const request = send(target, { ...options, agent: false }, (response) => {
      const chunks: Buffer[] = [];
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("end", () => {
        resolve([response.statusCode ?? 0, Buffer.concat(chunks).toString()]);
      });
      response.on("error", reject);
    });
    request.on("error", reject);
    request.end(body);
  });
}

/** Return whether a text is the URL of a server: HTTP, a host, and no path. */
function isAddress(text: string): boolean {
  if (!URL.canParse(text)) return false;
  const { protocol, host, pathname } = new URL(text);
  return ["http:", "https:"].includes(protocol) && host !== "" && pathname === "/";
}

/** Return the error of a refused call; undefined when the answer is not one of the control API. */
function refusal(status: number, text: string): ControlRefused | undefined {
  try {
    const { code, message, member } = (JSON.parse(text) as { error: Record<string, string> }).error;
    return code === undefined ? undefined : new ControlRefused(status, code, message ?? code, member ?? "");
  } catch {
    return undefined;
  }
}

/** Return one segment of a path. */
export function segment(text: string): string {
  return encodeURIComponent(text);
}

/** Return a length of time as the control API reads it. */
export function duration(span: Duration): string {
  return typeof span === "number" ? `${Math.round(span)}ms` : span;
}

/** Return the options of a sandbox as the control API reads them. */
export function leased(options: { ttl?: Duration | null }): object {
  return typeof options.ttl === "number" ? { ...options, ttl: duration(options.ttl) } : options;
}

/** Return an amount as a JSON number that is written with the same digits. `TypeError` for a binary fraction. */
export function money(amount: Amount): number {
  const text = String(amount);
  // A number of up to fifteen digits is written as it was read.
  if ((typeof amount === "string" || Number.isInteger(amount)) && /^(?=.{1,16}$)\d{1,15}(\.\d+)?$/.test(text)) {
    return Number(text);
  }
  throw new TypeError(`amount: ${text} is not exact money; give decimal text such as "49.90", or a whole number`);
}

/** Parse JSON with each amount as decimal text. */
export function parseExact(json: string): unknown {
  // A quote inside a JSON text follows a backslash, so this never matches in one.
  return JSON.parse(json.replace(/"((?:\w+_)?amount)"(\s*):(\s*)(-?\d+(?:\.\d+)?)/g, '"$1"$2:$3"$4"'));
}
