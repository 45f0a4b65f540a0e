// How a server is found, started and ended.
import { execFile, spawn } from "node:child_process";
import { once } from "node:events";
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { Paydouble, PaydoubleError, ServerGone, ServerNotFound } from "paydouble";
import { test } from "paydouble/vitest";
import { afterEach, describe, expect, vi } from "vitest";
import { forward } from "./support/forwarder.js";
import { deposit } from "./support/shop.js";

afterEach(() => {
  vi.unstubAllEnvs();
});

describe("at a mapped port", () => {
  test("addresses in answers are those of the port, and webhooks come", async ({ paydouble, onTestFinished }) => {
    const mapped = await forward(paydouble.url);
    onTestFinished(mapped.close);
    const server = await Paydouble.connect(mapped.url);
    await using sandbox = await server.sandbox({ clock: "manual" });
    await using receiver = await server.receiver(sandbox);

    await deposit(sandbox, "order-1");
    await sandbox.clock.advance("1m");

    expect(sandbox.baseUrl).toBe(`${mapped.url}/api/v1`);
    expect(receiver.received).toHaveLength(4);
    await using fork = await sandbox.fork();
    expect(fork.baseUrl).toBe(`${mapped.url}/api/v1`);
    const { data } = (await (await deposit(sandbox, "order-2")).json()) as { data: { payment_url: string } };
    expect(data.payment_url).toMatch(new RegExp(`^${mapped.url}/`));
  });
});

describe("start", () => {
  test("uses the server at PAYDOUBLE_URL", async ({ paydouble }) => {
    vi.stubEnv("PAYDOUBLE_URL", `${paydouble.url}/`);

    await using server = await Paydouble.start({ command: "/there/is/none" });

    expect(server.url).toBe(paydouble.url);
    await server.close();
    expect((await paydouble.health()).status).toBe("ok");
  });

  test("starts the command with the token of the environment, and close ends it", async () => {
    vi.stubEnv("PAYDOUBLE_URL", "");
    vi.stubEnv("PAYDOUBLE_PORT", "1");
    vi.stubEnv("PAYDOUBLE_QUIET", "true");
    vi.stubEnv("PAYDOUBLE_CONTROL_TOKEN", "secret");
    const server = await Paydouble.start({ options: ["--seed", "7"] });
    expect((await server.find()).seed).toBe(7);
    vi.stubEnv("PAYDOUBLE_CONTROL_TOKEN", "");
    const stranger = await Paydouble.connect(server.url);
    await expect(stranger.sandbox()).rejects.toMatchObject({ name: "ControlRefused", status: 401 });

    await server.close();
    await server.close();

    await expect(server.health()).rejects.toThrow(ServerGone);
    const message = `no server answers at ${server.url} (connect ECONNREFUSED`;
    await expect(server.health()).rejects.toThrow(message);
    await expect(server.health()).rejects.toThrow("); is it running, and at this address?");
  });

  test("says what to do when there is no server", async () => {
    vi.stubEnv("PAYDOUBLE_URL", "");

    const error = await Paydouble.start({ command: "there-is-none" }).catch((reason: unknown) => reason);

    expect(error).toBeInstanceOf(ServerNotFound);
    expect((error as Error).message).toMatch(
      /PAYDOUBLE_URL.*PAYDOUBLE_IMAGE.*testcontainers.*there-is-none|PAYDOUBLE_URL.*PAYDOUBLE_IMAGE.*there-is-none.*PATH/s,
    );
    expect((error as Error).message).toContain("docs/how-to/get-the-command.md");
    await expect(Paydouble.connect()).rejects.toThrow("give an address, or set PAYDOUBLE_URL");
  });

  test("shows why a command has ended instead of listening", async () => {
    vi.stubEnv("PAYDOUBLE_URL", "");

    await expect(Paydouble.start({ options: ["--clock", "broken"] })).rejects.toThrow(
      /`paydouble serve` ended instead of listening: .*broken/s,
    );
  });

  test("the server ends with the process that has started it, also when that is killed", async ({ onTestFinished }) => {
    const folder = await mkdtemp(join(tmpdir(), "paydouble-child-"));
    onTestFinished(() => rm(folder, { recursive: true }));
    const index = new URL("../dist/index.js", import.meta.url).href;
    await writeFile(
      join(folder, "parent.mjs"),
      `import { Paydouble } from "${index}"; console.log((await Paydouble.start()).url); setInterval(() => {}, 1e6);`,
    );
    const env = { ...process.env, PAYDOUBLE_URL: "" };
    const parent = spawn(process.execPath, [join(folder, "parent.mjs")], { env, stdio: ["ignore", "pipe", "inherit"] });
    const [line] = (await once(parent.stdout, "data")) as [Buffer];
    const server = await Paydouble.connect(line.toString().trim());

    parent.kill("SIGKILL");

    await vi.waitFor(() => expect(server.health()).rejects.toThrow(ServerGone), { timeout: 60_000 });
  });

  test("a process whose work is done ends, although it has not closed its server", async () => {
    const index = new URL("../dist/index.js", import.meta.url).href;
    const program = `import { Paydouble } from "${index}"; console.log((await Paydouble.start()).url);`;
    const env = { ...process.env, PAYDOUBLE_URL: "" };

    const { stdout } = await promisify(execFile)(process.execPath, ["--input-type=module", "--eval", program], { env });

    const gone = () => expect(Paydouble.connect(stdout.trim())).rejects.toThrow(ServerGone);
    await vi.waitFor(gone, { timeout: 60_000 });
  });
});

/** Start a server of the test's own, and return its address. */
async function serve(onTestFinished: (end: () => void) => void, listener: RequestListener): Promise<string> {
  const server = createServer(listener).listen(0, "127.0.0.1");
  await once(server, "listening");
  onTestFinished(() => void server.close());
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
}

test("a long list is read page by page", async ({ onTestFinished }) => {
  const url = await serve(onTestFinished, (request, response) => {
    const cursor = new URL(request.url ?? "/", "http://server").searchParams.get("cursor");
    const page = cursor === null ? { items: [1], next_cursor: "a b" } : { items: [cursor], next_cursor: null };
    response.end(JSON.stringify(page));
  });
  const server = await Paydouble.connect(url);

  expect(await server.unclaimedRequests()).toEqual([1, "a b"]);
});

test.for([
  [200, "<h1>Welcome</h1>"],
  [404, "<h1>Not found</h1>"],
  [500, '{"error": "no"}'],
] as const)("another server is recognised: %i %s", async ([status, body], { onTestFinished }) => {
  const url = await serve(onTestFinished, (_, response) => response.writeHead(status).end(body));

  const connecting = Paydouble.connect(url);

  await expect(connecting).rejects.toThrow(PaydoubleError);
  await expect(connecting).rejects.toThrow(`the server at ${url} does not answer as paydouble does`);
});

test.for(["127.0.0.1:8080", "localhost:8080", "::", "ftp://localhost", "http://localhost:8080/_paydouble"])(
  "%s is no address of a server",
  async (url) => {
    const connecting = Paydouble.connect(url);

    await expect(connecting).rejects.toThrow(PaydoubleError);
    await expect(connecting).rejects.toThrow(`'${url}' is not a server's URL; write it like http://localhost:8080`);
  },
);

test("the stack of a failed call shows the line of the test", async ({ onTestFinished }) => {
  const url = await serve(onTestFinished, (request) => request.socket.destroy());

  const error = await Paydouble.connect(url).catch((reason: unknown) => reason);

  expect(error).toBeInstanceOf(ServerGone);
  expect((error as Error).stack).toContain("servers.test.ts");
  expect((error as Error).cause).toBeInstanceOf(Error);
});

test("a receiver's address is the one that the server sees", async ({ paydouble, sandbox }) => {
  const server = await Paydouble.connect(paydouble.url, { receiverHost: "localhost" });

  await using receiver = await server.receiver(sandbox);
  await deposit(sandbox, "order-1");
  await receiver.wait(1, 60_000);

  expect(receiver.url).toMatch(/^http:\/\/localhost:/);
  expect((await sandbox.webhook.read()).notification_url).toBe(receiver.url);
});

test("a command that prints nothing and ends is an error", async ({ onTestFinished }) => {
  vi.stubEnv("PAYDOUBLE_URL", "");
  const folder = await mkdtemp(join(tmpdir(), "paydouble-command-"));
  onTestFinished(() => rm(folder, { recursive: true }));
  await writeFile(join(folder, "broken"), "#!/bin/sh\nexit 3\n");
  await chmod(join(folder, "broken"), 0o755);

  await expect(Paydouble.start({ command: join(folder, "broken") })).rejects.toThrow("ended instead of listening");
});
