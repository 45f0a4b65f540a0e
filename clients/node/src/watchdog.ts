// Runs `paydouble serve` for as long as the process that started it lives: standard input ends with that process, however
// it ends. Prints the server's address; reads and drops its log, so that a parent that blocks never blocks the server.
import { spawn } from "node:child_process";
import { createInterface } from "node:readline";

const [command = "paydouble", ...options] = process.argv.slice(2);
const server = spawn(command, ["serve", "--port", "0", ...options], { stdio: ["ignore", "pipe", "inherit"] });
server.on("error", (error: NodeJS.ErrnoException) => {
  process.stderr.write(`${error.message}\n`);
  process.exit(error.code === "ENOENT" ? 127 : 126);
});
server.on("exit", (code) => process.exit(code ?? 1));
createInterface(server.stdout).on("line", (line) => {
  const address = /^\s*control API\s+(\S+)\/_paydouble$/.exec(line)?.[1];
  if (address !== undefined) process.stdout.write(`${address}\n`);
});
process.stdin.on("end", () => server.kill()).resume();
