import { spawn, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import type { Socket } from "node:net";
import { fileURLToPath } from "node:url";
import { PaydoubleError } from "./errors.js";

/** A server in a child process, which ends with this process. */
export interface ChildServer {
  url: string;
  close: () => Promise<void>;
}

const NOT_FOUND = 127;

/**
 * Start `paydouble serve` at a free port, with further options; undefined when there is no such command.
 * `PaydoubleError` when it ends instead of listening.
 */
export async function startChild(command: string, options: readonly string[]): Promise<ChildServer | undefined> {
  const watchdog = fileURLToPath(new URL("watchdog.js", import.meta.url));
  // What the environment says about where to listen, or not to print the address, is for other servers.
  const { PAYDOUBLE_PORT, PAYDOUBLE_QUIET, ...env } = process.env;
  const child = spawn(process.execPath, [watchdog, command, ...options], { env, stdio: ["pipe", "pipe", "pipe"] });
  let complaint = "";
  child.stderr.on("data", (chunk: Buffer) => (complaint = (complaint + chunk.toString()).slice(-2000)));
  const [first] = (await Promise.race([once(child.stdout, "data"), once(child, "close")])) as [Buffer | number | null];
  if (Buffer.isBuffer(first)) {
    release(child);
    return { url: first.toString().trim(), close: () => end(child) };
  }
  if (first === NOT_FOUND) return undefined;
  throw new PaydoubleError(`\`${command} serve\` ended instead of listening: ${complaint.trim()}`);
}

// A test process ends by itself when its tests have ended, although the server still runs.
function release(child: ChildProcess): void {
  child.unref();
  for (const stream of [child.stdin, child.stdout, child.stderr]) (stream as Socket | null)?.unref();
}

async function end(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return;
  const exited = once(child, "exit");
  child.ref();
  child.stdin?.end();
  await exited;
}
