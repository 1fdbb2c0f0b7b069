import { isDeepStrictEqual } from "node:util";
import type { Condition, Item, Write } from "../../../packages/holdfast/src/platform/table.js";
import type { Timed } from "../history.js";
import { mapIn, numberIn, textIn } from "../items.js";
import type { Exchanged, Observer, Sent } from "../observed.js";
import { Deadlines } from "../safety.js";
import type { Terms } from "../terms.js";
import { recordIn } from "../witness.js";
import { Attempts } from "./attempts.js";
import { keyText, type Named, namedIn, partsOf } from "./items.js";
import { Places } from "./places.js";
import { type Rule, type Wrong, wrongStep } from "./steps.js";

/** What a process has seen of a record: since when it has seen this holder and version. */
interface Seen {
  readonly holder: string | undefined;
  readonly version: bigint | undefined;
  readonly fence: bigint | undefined;
  readonly sinceMs: number;
  readonly leaseMs: number | undefined;
  readonly endMs: number | undefined;
  /** Whether a strongly consistent answer has shown it: the `Date` of another read does not count. */
  readonly isStrong: boolean;
}

/** What the run tells the protocol. */
interface Surroundings {
  readonly terms: Pick<Terms, "isExclusive" | "maxClockDrift" | "dates">;
  readonly nowMs: () => number;
  readonly trueWallMs: () => number;
  readonly fail: (invariant: string, what: string) => void;
}

/** The attributes that a condition may order by: counters, of which none is a time. */
const COUNTERS = ["version", "fence", "dataSeq", "tail", "served", "leaseMs", "used", "asked"];

/**
 * An interpreter of the protocol, beside a run: judges every write that a process sends by what the process knows, and every
 * write that the table applies by the state machine of its record. A violation is named after the rule, such as `trace R4`.
 * Pure beside its own memory: it changes nothing of a run.
 */
export class Protocol {
  readonly #of: Surroundings;
  readonly #owners = new Map<string, string>();
  readonly #seen = new Map<string, Seen>();
  /** What processes have watched until it counted as dead. */
  readonly #dead = new Set<string>();
  /** What a process saw of a record before it saw it change. */
  readonly #passed = new Map<string, Seen>();
  /** The last ticket granted, by the first part of the entries' sort keys and the name. */
  readonly #served = new Map<string, bigint>();
  /** What processes may do to the record of another: an operator's name, or an importer's name and fence. */
  readonly #allowed = new Set<string>();
  readonly #deadlines: Deadlines;
  /** The leases that their processes have given up or lost, by fence and name. */
  readonly #over = new Set<string>();
  /** Those of them that their processes have lost. */
  readonly #ended = new Set<string>();
  /** The holder ids whose loss an answer has shown to their process. */
  readonly #lost = new Set<string>();
  readonly #inFlight = new Map<string, Write>();
  readonly #closed = new Set<string>();
  readonly #places = new Places();
  readonly #attempts = new Attempts();

  constructor(surroundings: Surroundings) {
    this.#of = surroundings;
    this.#deadlines = new Deadlines(surroundings.terms.maxClockDrift);
  }

  /** Sees what a process sends and is answered. */
  observerOf(by: string): Observer {
    return {
      sent: (request) => this.#sent(by, request),
      answered: (exchanged) => this.#answered(by, exchanged),
    };
  }

  /** Sees an event of the history. */
  noted(event: Timed): void {
    this.#deadlines.see(event);
    if (event.kind === "forces" && event.isNow) this.#allowed.add(`${event.by} ${event.name}`);
    else if (event.kind === "imports")
      this.#allowed.add(`${event.by} ${event.name} ${event.fence}`);
    else if (event.kind === "lost") {
      this.#over.add(`${event.fence} ${event.name}`);
      this.#ended.add(`${event.fence} ${event.name}`);
    }
    // The library keeps the lease of an occurrence for a while after its work.
    else if (event.kind === "released" && !event.name.startsWith("once#")) {
      this.#over.add(`${event.fence} ${event.name}`);
    }
  }

  /** The client of this process has closed. */
  closed(by: string): void {
    this.#closed.add(by);
  }

  /** Judges a write that the table has applied. */
  applied(by: string, write: Write, before: Item | undefined, after: Item | undefined): void {
    const { name } = recordIn(write.key);
    const isAllowed =
      this.#allowed.has(`${by} ${name}`) ||
      this.#allowed.has(`${by} ${name} ${numberIn(before, "fence")}`);
    const ownerOf = (holder: string | undefined) => this.#owners.get(holder ?? "");
    const trueWallMs = this.#of.trueWallMs();
    const wrong = wrongStep({ write, before, after, by, ownerOf, isAllowed, trueWallMs });
    this.#failBy(by, write, wrong);
    this.#failBy(by, write, this.#attempts.applied(by, write));
    this.#places.applied(write, before, after);
    const served = numberIn(after, "served");
    if (served !== undefined) this.#served.set(queueOf(write.key), served);
  }

  #fail(rule: Rule, what: string): void {
    this.#of.fail(`trace ${rule}`, what);
  }

  #failBy(by: string, { key }: Write, wrong: Wrong | undefined): void {
    if (wrong !== undefined) this.#fail(wrong[0], `${by} ${wrong[1]}: "${keyText(key)}"`);
  }

  #sent(by: string, request: Sent): void {
    if (this.#closed.has(by))
      this.#fail("R13", `${by} sent a ${request.kind} after its client had closed`);
    // Several locks are asked for with places that may have been lost in one of the queues: the table refuses a ticket that
    // was passed. A machine that stands still with all its clocks cannot know what it has lost.
    if (request.kind === "write" && this.#of.terms.isExclusive) {
      const isOwn = (one: string) => this.#owners.get(one) === by;
      this.#failBy(by, request.write, this.#places.sent(request.write, isOwn));
    }
    for (const write of writesIn(request)) this.#judge(by, write);
  }

  #judge(by: string, write: Write): void {
    const holder = textIn(write.change.set as Item, "holder");
    if (holder !== undefined && !this.#owners.has(holder)) this.#owners.set(holder, by);
    const wrong = comparesTimes(write.condition);
    if (wrong !== undefined) this.#fail("R11", `${by} compares ${wrong}: "${keyText(write.key)}"`);
    const isAlive = (session: string) => this.#of.nowMs() < this.#deadlines.ofSession(session);
    this.#failBy(by, write, this.#attempts.sent(by, write, isAlive));
    if (recordIn(write.key).kind === "permits") return;
    const all = namedIn(write.condition);
    for (const named of all) {
      const owner = this.#owners.get(named.holder);
      // A write that accepts several holders undoes what the process has given up.
      if (owner === by && all.length === 1) this.#judgeOwn(by, write, named);
      else if (owner !== by && named.version !== undefined) this.#judgeRival(by, write, named);
    }
  }

  /** A write about the process's own lease. */
  #judgeOwn(by: string, write: Write, { holder, fence }: Named): void {
    const { set, remove } = write.change;
    const { name, kind } = recordIn(write.key);
    const isKeeping = set["mark"] !== undefined && set["holder"] === undefined;
    const isData = set["dataSeq"] !== undefined && set["holder"] === undefined;
    if (fence === undefined || !(isKeeping || isData || remove.includes("holder"))) return;
    const key = `${by} ${holder}`;
    const other = this.#inFlight.get(key);
    // After a loss the session frees the record, whatever becomes of the last renewal.
    const isSweep = remove.includes("holder") && this.#ended.has(`${fence} ${name}`);
    if (other !== undefined && !isSweep && !isDeepStrictEqual(other, write))
      this.#fail("R7", `${by} sent two writes at once for its lease: "${keyText(write.key)}"`);
    this.#inFlight.set(key, write);
    if (!isKeeping) return;
    if (this.#lost.has(key))
      this.#fail("R6", `${by} renewed a lease after an answer that showed its loss: "${name}"`);
    if (kind !== "lock") return;
    const of = { name, fence };
    if (this.#over.has(`${fence} ${name}`))
      this.#fail("R8", `${by} renewed a lease after its end: "${name}"`);
    const lateMs = this.#of.nowMs() - this.#deadlines.of(of);
    if (this.#of.terms.isExclusive && lateMs > 0)
      this.#fail(
        "R2",
        `${by} renewed a lease ${lateMs.toFixed(1)} ms after its deadline: "${name}"`,
      );
  }

  /** A write in place of another process, which must count as dead. */
  #judgeRival(by: string, write: Write, { holder, version, session }: Named): void {
    const { name } = recordIn(write.key);
    if (this.#allowed.has(`${by} ${name}`)) return;
    // The checker `ownership` judges whether the session had ended.
    if (session !== undefined) return;
    if (this.#isPassed(write.key)) return;
    const key = `${by} ${keyText(write.key)}`;
    const pair = `${holder} ${version}`;
    const seen = this.#seen.get(key);
    const isSeen = seen?.holder === holder && seen.version === version;
    // An answer that its caller no longer awaits may have shown another version: the caller goes on watching this one,
    // and the table refuses its write.
    const watched = isSeen ? seen : this.#passed.get(`${key} ${pair}`);
    if (this.#dead.has(`${key} ${pair}`) || (watched !== undefined && this.#isDead(watched)))
      return;
    const ms = isSeen
      ? `has seen it for ${(this.#of.nowMs() - seen.sinceMs).toFixed(1)} ms`
      : "sees another";
    this.#fail("R3", `${by} takes ${pair} of "${name}", and ${ms}`);
  }

  /** Whether a holder counts as dead for a process that has seen this. */
  #isDead({ sinceMs, leaseMs = 0, endMs, isStrong }: Seen): boolean {
    const { dates, maxClockDrift } = this.#of.terms;
    if (dates !== undefined && endMs !== undefined && isStrong) {
      if (this.#of.trueWallMs() + dates.differMs >= endMs + dates.boundMs) return true;
    }
    const watchMs = (leaseMs * (1 + 2 * maxClockDrift)) / (1 + maxClockDrift);
    // A microsecond covers the rounding of clocks which are simulated by multiplication.
    return this.#of.nowMs() - sinceMs >= watchMs - 0.001;
  }

  /** Whether an entry has a ticket that was granted or passed over: then anybody may remove it. */
  #isPassed(key: Item): boolean {
    if (recordIn(key).kind !== "place") return false;
    const [kind = "", , ticket = ""] = (textIn(key, "sk") ?? "").split("/");
    const served = this.#served.get(`${kind} ${recordIn(key).name}`);
    return served !== undefined && BigInt(ticket) <= served;
  }

  #answered(by: string, exchanged: Exchanged): void {
    for (const write of writesIn(exchanged)) {
      this.#land(by, write);
      this.#attempts.answered(write, exchanged.answer.kind);
    }
    if (exchanged.kind === "write") {
      const { write, answer } = exchanged;
      if (answer.kind !== "applied" && answer.kind !== "refused") return;
      this.#see(by, write.key, answer.item, true);
      if (answer.kind === "refused") this.#seeLoss(by, write, answer.item);
    } else if (exchanged.kind === "read" && exchanged.answer.kind === "found") {
      this.#see(by, exchanged.read.key, exchanged.answer.item, exchanged.read.consistent);
    } else if (exchanged.kind === "transact" && exchanged.answer.kind === "refused") {
      const { writes } = exchanged.transaction;
      for (const [index, refusal] of exchanged.answer.refusals.entries()) {
        const write = writes[index];
        if (write !== undefined && refusal !== undefined)
          this.#see(by, write.key, refusal.item, true);
      }
    } else if (exchanged.kind === "query" && "items" in exchanged.answer) {
      for (const item of exchanged.answer.items)
        this.#see(by, item, item, exchanged.query.consistent);
    }
  }

  #land(by: string, write: Write): void {
    for (const { holder } of namedIn(write.condition)) {
      const key = `${by} ${holder}`;
      if (isDeepStrictEqual(this.#inFlight.get(key), write)) this.#inFlight.delete(key);
    }
  }

  #seeLoss(by: string, write: Write, item: Item | undefined): void {
    const isKeeping =
      write.change.set["mark"] !== undefined && write.change.set["holder"] === undefined;
    if (!isKeeping) return;
    for (const { holder, fence } of namedIn(write.condition)) {
      const isMine = textIn(item, "holder") === holder && numberIn(item, "fence") === fence;
      if (!isMine && fence !== undefined) this.#lost.add(`${by} ${holder}`);
    }
  }

  #see(by: string, recordKey: Item, item: Item | undefined, isStrong: boolean): void {
    // Of a record that it cannot read, a client learns nothing.
    if (item?.["v"] !== undefined && numberIn(item, "v") !== 1n) return;
    const key = `${by} ${keyText(recordKey)}`;
    const known = this.#seen.get(key);
    const [holder, version, fence] = [
      textIn(item, "holder"),
      numberIn(item, "version"),
      numberIn(item, "fence"),
    ];
    const leaseMs = numberIn(item, "leaseMs");
    const isSame = known !== undefined && known.holder === holder && known.version === version;
    const end = mapIn(item, "leaseEnd");
    const endMs = textIn(end, "holder") === holder ? numberIn(end, "at") : undefined;
    const shown: Seen = {
      ...{ holder, version, fence },
      sinceMs: isSame ? known.sinceMs : this.#of.nowMs(),
      leaseMs: leaseMs === undefined ? undefined : Number(leaseMs),
      endMs: endMs === undefined ? undefined : Number(endMs),
      isStrong: isStrong || (isSame && known.isStrong),
    };
    if (!isStrong && known !== undefined && isOlder({ fence, version }, known)) {
      // A late copy, or a read of an old state, is new to a waiter that watches by itself, as of the entries of a queue, and
      // to a client that has forgotten what nobody watched. The waiter continues from that state, and the table refuses the
      // write.
      const of = `${key} ${holder} ${version}`;
      if (!this.#passed.has(of)) this.#passed.set(of, shown);
      return;
    }
    if (known !== undefined && !isSame && this.#isDead(known))
      this.#dead.add(`${key} ${known.holder} ${known.version}`);
    if (known !== undefined && !isSame)
      this.#passed.set(`${key} ${known.holder} ${known.version}`, known);
    this.#seen.set(key, shown);
  }
}

/** The first part of the sort keys of a record's queue, and its name. */
function queueOf(key: Item): string {
  const [kind = "", ...name] = (textIn(key, "pk") ?? "").split("#");
  return `${kind === "lock" ? "ticket" : kind} ${name.join("#")}`;
}

/** Whether an eventually consistent read shows an earlier state than the process has seen. */
function isOlder(
  { fence, version }: Pick<Seen, "fence" | "version">,
  known: Pick<Seen, "fence" | "version">,
): boolean {
  if (fence === undefined) return true;
  if (known.fence === undefined || fence !== known.fence) return fence < (known.fence ?? -1n);
  return (version ?? 0n) < (known.version ?? 0n);
}

function writesIn(request: Sent): readonly Write[] {
  if (request.kind === "write") return [request.write];
  return request.kind === "transact" ? request.transaction.writes : [];
}

/** Returns the attribute that a condition orders by although it is a time of another machine. */
function comparesTimes(condition: Condition): string | undefined {
  for (const part of partsOf(condition)) {
    if (part.kind !== "below" && part.kind !== "at-least") continue;
    // A renewal compares the end of its lease with the end that its own holder has set.
    const isOwnEnd = part.attribute === "leaseEnd" && namesOwnEnd(condition);
    if (!COUNTERS.includes(part.attribute) && !isOwnEnd) return part.attribute;
  }
  return undefined;
}

function namesOwnEnd(condition: Condition): boolean {
  return [...partsOf(condition)].some(
    (part) => part.kind === "differs" && part.attribute === "leaseEnd" && part.member === "holder",
  );
}
