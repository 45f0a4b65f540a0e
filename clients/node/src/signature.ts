// How a webhook is signed and verified: HMAC-SHA256 of the time, a dot and the raw body (contract, sections 5.4 and 5.5).
import { createHmac, timingSafeEqual } from "node:crypto";
import { PaydoubleError } from "./errors.js";

/** The header that has the signature. */
export const SIGNATURE_HEADER = "x-service-signature";
const TOLERANCE_SECONDS = 300;

/** A signature does not verify; `status` is what a receiver should answer. */
export class SignatureError extends PaydoubleError {
  override name = "SignatureError";

  constructor(
    readonly status: 400 | 401,
    message: string,
  ) {
    super(message);
  }
}

/** Return the value of the header for a body that is signed at a time, in Unix seconds; now unless given. */
export function sign(body: string | Uint8Array, secret: string, at = unixSeconds()): string {
  return `t=${at},v1=${digest(body, secret, at.toString()).toString("hex")}`;
}

/** Verify a header against the exact bytes that came. Times are Unix seconds. Throws a `SignatureError`. */
export function verifySignature(
  body: string | Uint8Array,
  header: string | undefined,
  secret: string,
  { tolerance = TOLERANCE_SECONDS, now = unixSeconds() }: { tolerance?: number; now?: number } = {},
): void {
  if (!header?.trim()) throw new SignatureError(400, "the request has no signature");
  const parts = header
    .trim()
    .split(",")
    .map((part) => part.split(/=(.*)/s));
  const values = (name: string) => parts.filter((part) => part[0] === name).map((part) => part[1] ?? "");
  const [time, ...more] = values("t");
  const digests = values("v1").filter((value) => value !== "");
  if (time === undefined || more.length > 0 || !/^[0-9]{1,20}$/.test(time) || digests.length === 0) {
    throw new SignatureError(400, "the signature header does not have one time `t` and at least one `v1`");
  }
  if (Math.abs(now - Number(time)) > tolerance) {
    throw new SignatureError(400, `the webhook was signed at ${time}, more than ${tolerance} s from now`);
  }
  const expected = Buffer.from(digest(body, secret, time).toString("hex"));
  const same = digests
    .map((each) => Buffer.from(each))
    .map((each) => each.length === expected.length && timingSafeEqual(each, expected));
  if (!same.includes(true)) {
    const advice =
      "check that the body has the bytes as they came, and that the secret is the webhook secret of the sandbox";
    throw new SignatureError(401, `no \`v1\` fits this body and this secret; ${advice}`);
  }
}

/** `TypeError` for a blank secret: it is an unset variable, and everyone knows it. */
export function checkSecret(secret: string): void {
  if (!secret.trim()) throw new TypeError("the webhook secret is blank; give the one that the sandbox shows");
}

function digest(body: string | Uint8Array, secret: string, time: string): Buffer {
  checkSecret(secret);
  return createHmac("sha256", secret).update(`${time}.`).update(body).digest();
}

function unixSeconds(): number {
  return Math.floor(Date.now() / 1000);
}
