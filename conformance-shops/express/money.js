// Exact amounts of money: BigInt in the minor units of their currency.

import { mistake } from "./settings.js";

const WITHOUT_DIGITS = new Set("BIF CLP DJF GNF ISK JPY KMF KRW PYG RWF UGX UYI VND VUV XAF XOF XPF".split(" "));
const THREE_DIGITS = new Set("BHD IQD JOD KWD LYD OMR TND".split(" "));

/** @param {string} currency */
export function digits(currency) {
  if (mistake("two-digits-always")) return 2;
  if (WITHOUT_DIGITS.has(currency)) return 0;
  return THREE_DIGITS.has(currency) ? 3 : 2;
}

/** The amount in minor units; throws a RangeError when the currency has no such amount.
 * @param {unknown} amount as it is written @param {string} currency @returns {bigint} */
export function parse(amount, currency) {
  const places = digits(currency);
  if (mistake("float-cents")) return BigInt(Math.floor(Number(amount) * 10 ** places));
  const match = /^(\d+)(?:\.(\d+?)0*)?$/.exec(String(amount));
  const fraction = match?.[2] === "0" ? "" : (match?.[2] ?? "");
  if (match && mistake("two-digits-always")) return BigInt(match[1] + fraction.slice(0, 2).padEnd(2, "0"));
  if (!match || fraction.length > places) throw new RangeError(`not an amount of ${currency}: ${amount}`);
  const minor = BigInt(match[1] + fraction.padEnd(places, "0"));
  if (minor <= 0n) throw new RangeError(`not a positive amount: ${amount}`);
  return minor;
}

/** @param {bigint} minor @param {string} currency */
export function text(minor, currency) {
  const places = digits(currency);
  const sign = minor < 0n ? "-" : "";
  const figures = (minor < 0n ? -minor : minor).toString().padStart(places + 1, "0");
  return sign + (places ? `${figures.slice(0, -places)}.${figures.slice(-places)}` : figures);
}

/** JSON.parse, but each number becomes the text that it is written as, since a float would lose digits.
 * @param {string} json @returns {any} */
export const parseJson = (json) =>
  JSON.parse(json.replace(/"(?:[^"\\]|\\.)*"|-?\d[\d.eE+-]*/g, (token) => (token[0] === '"' ? token : `"${token}"`)));
