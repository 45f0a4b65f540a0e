// The books: rows in memory, and a file to which each transaction is appended as one line.

import {
  appendFileSync,
  closeSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  truncateSync,
  writeSync,
} from "node:fs";
import { join } from "node:path";
import { DATA, mistake } from "./settings.js";

/** @typedef {Record<string, any>} Row */

const TABLES = ["orders", "attempts", "payins", "refunds", "disputes", "ledger", "events", "clock"];
mkdirSync(DATA, { recursive: true });
const FILE = join(DATA, "books.jsonl");

/** @type {Record<string, Map<string, Row>>} */
const tables = Object.fromEntries(TABLES.map((name) => [name, new Map()]));

if (existsSync(FILE)) {
  const content = readFileSync(FILE);
  const whole = content.subarray(0, content.lastIndexOf(0x0a) + 1); // a crash can leave half a line
  if (whole.length < content.length) truncateSync(FILE, whole.length);
  for (const line of whole.toString().split("\n").filter(Boolean)) {
    for (const [table, id, row] of JSON.parse(line)) tables[table].set(id, row);
  }
}

let file = openSync(FILE, "a");

/** @type {[string, string, Row][] | null} */
let changes = null;

/** @type {[string, string, Row | undefined][]} */
let undo = [];

/** Do all of it or nothing: when this returns, it is on the disk.
 * @template T @param {() => T} work @returns {T} */
export function transaction(work) {
  if (changes) return work(); // part of the transaction around it
  changes = [];
  undo = [];
  try {
    const result = work();
    if (changes.length) write(JSON.stringify(changes) + "\n");
    return result;
  } catch (error) {
    for (const [table, id, row] of undo.reverse()) row ? tables[table].set(id, row) : tables[table].delete(id);
    throw error;
  } finally {
    changes = null;
  }
}

/** @type {string[]} */
let unwritten = []; // only for a mistake

/** @param {string} line */
function write(line) {
  if (mistake("books-written-later")) {
    if (unwritten.push(line) === 1) setTimeout(() => appendFileSync(FILE, unwritten.splice(0).join("")), 1000);
    return;
  }
  writeSync(file, line);
  fsyncSync(file);
}

/** Write a row; rows are never changed in place. @param {string} table @param {string} id @param {Row} row */
export function put(table, id, row) {
  if (!changes) throw new Error("outside of a transaction");
  undo.push([table, id, tables[table].get(id)]);
  changes.push([table, id, row]);
  tables[table].set(id, row);
}

/** @param {string} table @param {string | undefined} id @returns {Row | undefined} */
export const get = (table, id) => (id === undefined ? undefined : tables[table].get(id));

/** @param {string} table @param {(row: Row) => boolean} [wanted] @returns {Row[]} */
export const find = (table, wanted = () => true) => [...tables[table].values()].filter(wanted);

export function reset() {
  for (const table of TABLES) tables[table].clear();
  unwritten = [];
  closeSync(file);
  file = openSync(FILE, "w");
  fsyncSync(file);
}

/** The shop's time in milliseconds: the machine's, shifted if a test asked for that. */
export const now = () => Date.now() + (get("clock", "clock")?.ahead ?? 0);

/** @param {string | null} instant */
export function setTime(instant) {
  transaction(() => put("clock", "clock", { ahead: instant === null ? 0 : Date.parse(instant) - Date.now() }));
}
