// Names for the types of the control API. They are those of the served document; members are named as on the wire.
import type { components, operations } from "./control-api.js";

/** The schemas of the control API's document, such as `Schemas["Delivery"]`. */
export type Schemas = components["schemas"];

type Json<Content> = Content extends { content: { "application/json": infer Body } } ? Body : never;
type Responses<Operation extends keyof operations> = operations[Operation]["responses"];

/** What an operation of the control API answers, by its id. */
export type AnswerOf<Operation extends keyof operations> = Json<
  Responses<Operation>[keyof Responses<Operation> & (200 | 201)]
>;

/** Milliseconds, or a text such as `"72h"`, `"1h30m"` or `"PT72H"`. */
export type Duration = string | number;
/** A `Date`, or a text with its zone such as `"2026-01-01T00:00:00Z"`. */
export type Instant = string | Date;
/** Money: decimal text such as `"49.90"`, or a whole number. */
export type Amount = string | number;

/** A pay-in, refund, dispute or payout; amounts are decimal text with the digits of the answer. */
export type Resource = Schemas["Resource"];

/** The clock of a sandbox: a mode, or a mode with where it begins and how fast it runs. */
export type ClockOptions =
  Schemas["ClockBody"]["mode"] | (Omit<Schemas["ClockBody"], "start"> & { start?: Instant | null });
type Leased<Members> = Omit<Members, "ttl"> & { ttl?: Duration | null };
/** What a new sandbox can be asked to be; the server chooses what is left out. */
export type SandboxOptions = Leased<Omit<Schemas["CreateSandbox"], "clock">> & { clock?: ClockOptions | null };
/** What can be changed of a sandbox. */
export type SandboxChanges = Leased<Schemas["ChangeSandbox"]>;
/** What a fork can have of its own. */
export type ForkOptions = Leased<Schemas["Fork"]>;

type Without<Members, Names extends PropertyKey> = Members extends unknown ? Omit<Members, Names> : never;
type Effect = Schemas["ApiEffect"] | Schemas["WebhookEffect"];
/** What selects the requests, events or attempts on which a fault acts. */
export type FaultMatch = Schemas["ApiMatch"] & Schemas["WebhookMatch"];
/** The members of a fault besides its match and its effect. */
export type FaultMembers = Omit<Schemas["ApiFault"], "effect" | "match" | "on"> & { on?: Schemas["Fault"]["on"] };
// An effect that shares a name with a match (`method` of `remove_method`) cannot be given flat.
type Flat<One extends Effect> = One extends unknown
  ? keyof One & keyof FaultMatch extends never
    ? One
    : never
  : never;
/** The effects that `faults.add` takes by name; the others are given as an object. */
export type FlatEffect = Flat<Effect>;
/** An effect as an object, such as `{ type: "remove_method", method: "PIX" }`. */
export type EffectObject = Effect;
/** What `faults.add` takes after the name of an effect. */
export type FaultOptions<Name extends FlatEffect["type"]> = FaultMembers &
  FaultMatch &
  Without<Extract<FlatEffect, { type: Name }>, "type">;

/** How many records must match; at least one unless given. */
export interface Expected {
  count?: number;
  at_least?: number;
  at_most?: number;
}
/** What `verify` takes: a match and how often it is expected, or a sequence of matches to be met in this order. */
export type Question<Match> = (Match & Expected & { sequence?: never }) | { sequence: readonly Match[] };
/** Which requests; all that is given must hold. */
export type RequestMatch = Schemas["RequestMatch"];
/** Which deliveries; all that is given must hold. `type` is the same as `event_type`. */
export type DeliveryMatch = Schemas["DeliveryMatch"] & { type?: string };
