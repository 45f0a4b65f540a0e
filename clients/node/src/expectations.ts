import { NotAsExpected } from "./errors.js";
import type { Schemas } from "./schemas.js";

/** Return the message for a journal without records. */
export const NO_RECORDS = (what: string) => `there are no ${what} at all`;

/** Return how many records were found; `NotAsExpected` with the near misses when that is not what was asked for. */
export function expectVerdict(
  what: string,
  asked: Record<string, unknown>,
  verdict: Schemas["Verdict"],
  thrower: (...given: never[]) => unknown,
): number {
  if (verdict.passed) return verdict.count;
  const match = Object.entries(asked["match"] ?? {})
    .map(([name, value]) => `${name} ${JSON.stringify(value)}`)
    .join(", ");
  const within = verdict.timed_out === true ? ` within ${String(asked["timeout"])}` : "";
  const lines = [
    `expected ${verdict.expected} of the ${what}${match && ` with ${match}`}, found ${verdict.count}${within}`,
  ];
  for (const { id, at, differences, ...rest } of verdict.closest) {
    lines.push(`  close: ${[id, ...Object.values(rest)].join(" ")}`);
    for (const { member, wanted, got } of differences) {
      lines.push(`    ${member}: wanted ${JSON.stringify(wanted)}, got ${JSON.stringify(got)}`);
    }
  }
  if (verdict.closest.length === 0 && verdict.count === 0) lines.push(`  ${NO_RECORDS(what)}`);
  if (verdict.note !== undefined) lines.push(`  ${verdict.note}`);
  throw new NotAsExpected(lines.join("\n"), thrower);
}
