import { duration, money, segment, type Connection } from "./control.js";
import { expectVerdict, NO_RECORDS } from "./expectations.js";
import { NotAsExpected } from "./errors.js";
import type {
  Amount,
  AnswerOf,
  ClockOptions,
  DeliveryMatch,
  Duration,
  EffectObject,
  FaultMatch,
  FaultMembers,
  FaultOptions,
  FlatEffect,
  Instant,
  Question,
  RequestMatch,
  Resource,
  Schemas,
} from "./schemas.js";

const OF_A_MATCH: Record<keyof FaultMatch, true> = {
  external_identifier: true,
  object_id: true,
  scenario: true,
  operation: true,
  method: true,
  path: true,
  idempotency_key: true,
  event_type: true,
  attempt: true,
};
const OF_A_FAULT: Record<keyof FaultMembers, true> = {
  id: true,
  name: true,
  enabled: true,
  skip: true,
  times: true,
  probability: true,
  ttl: true,
  compose: true,
  on: true,
  phase: true,
};

class Handle {
  constructor(
    protected readonly connection: Connection,
    protected readonly path: string,
  ) {}
}

/** The time of a sandbox. */
export class Clock extends Handle {
  /** Return the time, the mode, and what the clock waits for. */
  read(): Promise<Schemas["Clock"]> {
    return this.connection.call("GET", this.path);
  }

  /** Replace the clock; without `start` it continues at the present time. */
  set(clock: ClockOptions): Promise<Schemas["Clock"]> {
    return this.connection.call("PUT", this.path, typeof clock === "string" ? { mode: clock } : clock);
  }

  /**
   * Move the clock by a length of time, to an instant, or until nothing is left to happen. Returns when everything due on
   * the way has settled; at most `limit` timers fire.
   */
  advance(
    target: Duration | { to: Instant } | { until_idle: true },
    options: { limit?: number } = {},
  ): Promise<AnswerOf<"clock-advance">> {
    const where = typeof target === "object" ? target : { by: duration(target) };
    return this.connection.call("POST", `${this.path}/advance`, { ...where, ...options });
  }
}

/** What goes wrong on purpose. */
export class Faults extends Handle {
  /**
   * Arm a fault: the name of an effect, and members of the fault (`times`), of its match (`operation`) and of the effect
   * (`status`) side by side. An effect whose attributes have the names of a match is given as an object.
   */
  add<Name extends FlatEffect["type"]>(effect: Name, members?: FaultOptions<Name>): Promise<Schemas["Fault"]>;
  add(effect: EffectObject, members?: FaultMembers & FaultMatch): Promise<Schemas["Fault"]>;
  add(effect: string | EffectObject, members: object = {}): Promise<Schemas["Fault"]> {
    const attributes: Record<string, unknown> = typeof effect === "string" ? { type: effect } : { ...effect };
    const match: Record<string, unknown> = {};
    const fault: Record<string, unknown> = { effect: attributes };
    for (const [name, value] of Object.entries(members)) {
      const home = Object.hasOwn(OF_A_MATCH, name) ? match : Object.hasOwn(OF_A_FAULT, name) ? fault : attributes;
      home[name] = value;
    }
    return this.connection.call("POST", this.path, Object.keys(match).length > 0 ? { ...fault, match } : fault);
  }

  /** Return all, in the order in which they are evaluated. */
  list(): Promise<Schemas["Fault"][]> {
    return this.connection.all(this.path);
  }

  /** Return one, with its counts. */
  get(faultId: string): Promise<Schemas["Fault"]> {
    return this.connection.call("GET", `${this.path}/${segment(faultId)}`);
  }

  /** Change members of a fault; its counts stay, and null resets a member to its default. */
  change(faultId: string, members: Schemas["FaultChange"]): Promise<Schemas["Fault"]> {
    return this.connection.call("PATCH", `${this.path}/${segment(faultId)}`, members);
  }

  /** Remove one; returns how often it has fired. */
  async remove(faultId: string): Promise<number> {
    const path = `${this.path}/${segment(faultId)}`;
    return (await this.connection.call<AnswerOf<"fault-remove">>("DELETE", path)).times_fired;
  }

  /** Remove all; returns how many there were. */
  async clear(): Promise<number> {
    return (await this.connection.call<AnswerOf<"fault-clear">>("DELETE", this.path)).deleted;
  }
}

/** A real rate limit. */
export class RateLimit extends Handle {
  /** Set a rate limit: so many requests per window, which is a minute unless given. */
  set(
    limit: number,
    options: Omit<Schemas["Quota"], "limit" | "window"> & { window?: Duration } = {},
  ): Promise<AnswerOf<"quota-set">> {
    const { window = "1m", ...rest } = options;
    return this.connection.call("PUT", this.path, { ...rest, limit, window: duration(window) });
  }

  /** Remove the rate limit. */
  async clear(): Promise<void> {
    await this.connection.call("DELETE", this.path);
  }
}

/** Records of one kind, oldest first. */
abstract class Records<One> extends Handle {
  protected abstract readonly what: string;

  /** Return those that match, oldest first. */
  abstract list(): Promise<One[]>;

  /** Return the newest; `NotAsExpected` when there is none. */
  async last(): Promise<One> {
    const newest = (await this.list()).at(-1);
    // eslint-disable-next-line @typescript-eslint/unbound-method -- it is named, not called
    if (newest === undefined) throw new NotAsExpected(NO_RECORDS(this.what), this.last);
    return newest;
  }
}

/** Records that can be compared with what a test expects. */
abstract class Journal<One, Match extends object> extends Records<One> {
  /** Return how many match; `NotAsExpected`, with the nearest misses, when that is not what the test expects. */
  verify(question: Question<Match> = {} as Question<Match>): Promise<number> {
    return this.#ask("verify", question);
  }

  /** Like `verify`, as soon as it holds; `NotAsExpected` after `timeout` of real time (5 seconds unless given). */
  wait(question: Question<Match> & { timeout?: Duration } = {} as Question<Match>): Promise<number> {
    return this.#ask("wait", { ...question, timeout: duration(question.timeout ?? "5s") });
  }

  async #ask(call: "verify" | "wait", question: Question<Match> & { timeout?: string }): Promise<number> {
    const { sequence, timeout, ...rest } = question as Record<string, unknown>;
    const { count, at_least, at_most, ...match } = rest;
    const asked = sequence === undefined ? { count, at_least, at_most, match } : { sequence, ...rest };
    const verdict = await this.connection.call<Schemas["Verdict"]>("POST", `${this.path}/${call}`, {
      ...asked,
      timeout,
    });
    return expectVerdict(this.what, { ...asked, timeout }, verdict, this.#ask);
  }
}

/** The requests that came to the API. */
export class Requests extends Journal<Schemas["Request"], RequestMatch> {
  protected readonly what = "requests";

  list(): Promise<Schemas["Request"][]> {
    return this.connection.all(this.path);
  }

  /** Remove them; returns how many there were. */
  async clear(): Promise<number> {
    return (await this.connection.call<AnswerOf<"request-forget">>("DELETE", this.path)).removed;
  }
}

/** The events. */
export class Events extends Records<Schemas["Event"]> {
  protected readonly what = "events";

  list(match: { type?: string; object_id?: string } = {}): Promise<Schemas["Event"][]> {
    return this.connection.all(this.path, match);
  }

  /** Return one. */
  get(eventId: string): Promise<Schemas["Event"]> {
    return this.connection.call("GET", `${this.path}/${segment(eventId)}`);
  }

  /** Emit an event of any documented type for an object that exists, with the object as it is now. */
  emit(type: string, objectId: string): Promise<Schemas["Event"]> {
    return this.connection.call("POST", this.path, { type, object_id: objectId });
  }
}

/** The deliveries of events. */
export class Deliveries extends Journal<Schemas["Delivery"], DeliveryMatch> {
  protected readonly what = "deliveries";

  list(
    match: {
      type?: string;
      object_id?: string;
      external_identifier?: string;
      status?: Schemas["Delivery"]["status"];
    } = {},
  ): Promise<Schemas["Delivery"][]> {
    const { type, ...rest } = match;
    return this.connection.all(this.path, { event_type: type, ...rest });
  }

  /** Return one, with every attempt. */
  get(deliveryId: string): Promise<Schemas["Delivery"]> {
    return this.connection.call("GET", `${this.path}/${segment(deliveryId)}`);
  }

  /** Send one once more, now, whatever its status is. */
  redeliver(deliveryId: string): Promise<Schemas["Delivery"]> {
    return this.connection.call("POST", `${this.path}/${segment(deliveryId)}/redeliver`);
  }

  /** Send failed deliveries again, all or those since a time of the sandbox's clock; returns their ids. */
  async redeliverFailed(since?: Instant): Promise<string[]> {
    const path = `${this.path}/redeliver`;
    return (await this.connection.call<AnswerOf<"delivery-redeliver-failed">>("POST", path, { since })).redelivered;
  }

  /** Hold one. */
  hold(deliveryId: string): Promise<Schemas["Delivery"]> {
    return this.connection.call("POST", `${this.path}/${segment(deliveryId)}/hold`);
  }

  /** Send a held one, now. */
  release(deliveryId: string): Promise<Schemas["Delivery"]> {
    return this.connection.call("POST", `${this.path}/${segment(deliveryId)}/release`);
  }
}

/** The members of a deposit that a scenario plays; the scenario has the others. */
export type PlayedDeposit = Omit<Schemas["PlayedDeposit"], "amount"> & { amount?: Amount };

/** The scenarios that pay-ins play. */
export class Scenarios extends Handle {
  /** Return all, by name. */
  list(): Promise<Schemas["ScenarioSummary"][]> {
    return this.connection.all(this.path);
  }

  /** Return one, with every member of its file that is given. */
  get(name: string): Promise<AnswerOf<"scenario-read">> {
    return this.connection.call("GET", `${this.path}/${segment(name)}`);
  }

  /** Return the name of the one that every new pay-in plays, if there is one. */
  async active(): Promise<string | null> {
    return (await this.connection.call<AnswerOf<"scenario-active">>("GET", `${this.path}/active`)).name;
  }

  /** Upload a scenario, as an object or as the text of a YAML file; it replaces another of its name. */
  upload(scenario: string | Schemas["Scenario"]): Promise<AnswerOf<"scenario-add">> {
    return this.connection.call("POST", this.path, typeof scenario === "string" ? { yaml: scenario } : scenario);
  }

  /** Make one active: every new pay-in plays it. */
  activate(name: string): Promise<AnswerOf<"scenario-activate">> {
    return this.connection.call("PUT", `${this.path}/active`, { name });
  }

  /** Deactivate the active scenario; returns its name. */
  async deactivate(): Promise<string | null> {
    return (await this.connection.call<AnswerOf<"scenario-deactivate">>("DELETE", `${this.path}/active`)).deleted;
  }

  /** Make a pay-in that plays a scenario. */
  play(name: string, deposit: PlayedDeposit = {}): Promise<Resource> {
    const members = exact(deposit);
    const body = Object.keys(members).length > 0 ? { deposit: members } : {};
    return this.connection.resource("POST", `${this.path}/${segment(name)}/play`, body);
  }
}

/** The target of events, and the secrets that sign them. */
export class Webhook extends Handle {
  /** Return target and secret. */
  read(): Promise<Schemas["Webhook"]> {
    return this.connection.call("GET", this.path);
  }

  /** Change the target of events (null: they are not sent), or replace the secret at once. */
  change(members: Schemas["ChangeWebhook"]): Promise<Schemas["Webhook"]> {
    return this.connection.call("PATCH", this.path, members);
  }

  /** Make a new secret; during the grace the old one signs too. */
  rotateSecret(grace: Duration = "0s"): Promise<Schemas["Webhook"]> {
    return this.connection.call("POST", `${this.path}/rotate-secret`, { grace: duration(grace) });
  }

  /** Send a sample event of a documented type; its object exists in the event alone. */
  test(type = "pay-in.succeeded"): Promise<Schemas["Event"]> {
    return this.connection.call("POST", `${this.path}/test`, { type });
  }
}

/** Refunds, disputes or payouts, whose outcome a test forces. */
export class Objects extends Handle {
  /** Move one to a state now; `force` allows any state. */
  transition(objectId: string, to: string, options: Omit<Schemas["Transition"], "to"> = {}): Promise<Resource> {
    return this.connection.resource("POST", `${this.path}/${segment(objectId)}/transition`, { to, ...options });
  }
}

/** Return members whose amount is written as a number, without a loss of digits. */
function exact<T extends { amount?: Amount }>(members: T): object {
  const { amount, ...rest } = members;
  return amount === undefined ? rest : { ...rest, amount: money(amount) };
}

/** Pay-ins, which can have refunds and disputes. */
export class PayIns extends Objects {
  /** Return all, oldest first. */
  list(): Promise<Resource[]> {
    return this.connection.all(this.path, {}, true);
  }

  /** Return one; it has `refunded_amount`, `disputed_amount` and so on, which the API does not show. */
  get(payInId: string): Promise<Resource> {
    return this.connection.resource("GET", `${this.path}/${segment(payInId)}`);
  }

  /** Return what happened to one as an HTML page, in one file that needs no server and no script. */
  timelineHtml(payInId: string): Promise<string> {
    return this.connection.text("GET", `${this.path}/${segment(payInId)}/timeline.html`);
  }

  /**
   * Make a refund, as the merchant's staff does on the provider's own pages; no code of the merchant has asked.
   * Without an amount it is about all that is left.
   */
  refund(payInId: string, options: Omit<Schemas["NewRefund"], "amount"> & { amount?: Amount } = {}): Promise<Resource> {
    return this.connection.resource("POST", `${this.path}/${segment(payInId)}/refunds`, exact(options));
  }

  /** Open a dispute, as the provider does; without an amount, about all that is not disputed yet. */
  dispute(
    payInId: string,
    options: Omit<Schemas["NewDispute"], "amount"> & { amount?: Amount } = {},
  ): Promise<Resource> {
    return this.connection.resource("POST", `${this.path}/${segment(payInId)}/disputes`, exact(options));
  }
}

/** The payer of one pay-in whose script waits for the payer. Each call returns the pay-in. */
export class Payer extends Handle {
  /** Pay. */
  pay(): Promise<Resource> {
    return this.#act({ action: "pay" });
  }

  /** Have the payment declined, with the code of the failure; without one the script decides. */
  decline(code?: string): Promise<Resource> {
    return this.#act({ action: "decline", code });
  }

  /** Give up. */
  abandon(): Promise<Resource> {
    return this.#act({ action: "abandon" });
  }

  #act(body: object): Promise<Resource> {
    return this.connection.resource("POST", this.path, body);
  }
}
