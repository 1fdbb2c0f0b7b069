import type { Holdfast } from "../client.js";
import type { AcquireContext } from "../core/acquire/context.js";
import { FailingCall } from "../core/failing-call.js";
import type { HeldLease, Lease } from "../core/hold/lease.js";
import type { FormatTypes, NativeTypes } from "../core/record/format-types.js";
import { refOf } from "../core/record/key.js";
import type { Session } from "../core/session/session.js";
import { isOutageError } from "../core/unavailable.js";
import { HoldfastError, isHoldfastError } from "../errors.js";
import { inMs } from "../internal/duration.js";
import { IdMemory } from "../internal/id-memory.js";
import { settlesWithin } from "../internal/settles-within.js";
import { shown } from "../internal/shown.js";
import { announce } from "../locks/asking.js";
import { mutex } from "../locks/mutex.js";
import type { MemberRow } from "../native/native-members.js";
import { Abort, abortSignalOf } from "../platform/abort.js";
import type { ChangeMonitor } from "./events.js";
import { type AssignSettings, lockNameOf } from "./options.js";
import { ASKS_AT_ONCE, askMs } from "./place.js";
import type { Targets } from "./targets.js";

/** What the claims need of their assignment. */
export interface Claiming {
  readonly locks: Holdfast<FormatTypes>;
  readonly context: AcquireContext;
  readonly group: string;
  readonly settings: AssignSettings;
  readonly monitor: ChangeMonitor;
  granted(name: string, lease: HeldLease): void;
  report(cause: unknown): void;
}

/** What a member knows at one look. */
export interface Round {
  readonly me: string;
  readonly session: Session;
  readonly targets: Targets;
  readonly rows: ReadonlyMap<string, MemberRow>;
  /** Whether this look has read the rows: without, a holder may be a member that this one does not know. */
  readonly isRead: boolean;
  /** Whether this process has the name, or its run has not ended yet. */
  isHere(name: string): boolean;
  /** How many names this process has. */
  readonly count: number;
}

/** A name that somebody else had when this member tried. */
interface Missing {
  /** The session of the holder; undefined if a session did not keep it. */
  readonly session: string | undefined;
  /** How often that member had given up a name: if it has since, this may be the one. */
  readonly freed: number | undefined;
  readonly owner: string | undefined;
  readonly retryAtMs: number;
  readonly pauseMs: number;
  /** Why the last attempt failed, if by an outage or a refusal. */
  readonly failure: string | undefined;
}

/** A name that this member is to ask for. */
interface Ask {
  readonly session: string;
  readonly missing: Missing;
  readonly round: Round;
}

/** Requests at once: the connections of the transport, and the table, are also there for others. */
const CLAIMS_AT_ONCE = 64;
/** The polls of a waiter: a name moves within seconds. */
const POLL = { min: "500ms", max: "2s" } as const;
/** How often this member compares what it has seen of the session of a holder that it asks. */
const HEARD_MS = 1_000;
const LONGEST_PAUSE_PERIODS = 10;
const MOST_STRANGERS = 100;

/** Takes the names that this member should have: free ones and those of dead members by claims, others by asking. */
export class Claims {
  readonly #of: Claiming;
  readonly #missing = new Map<string, Missing>();
  /** The waits that go on, by name. */
  readonly #waits = new Map<string, { readonly stop: Abort; readonly ended: Promise<void> }>();
  /** The asks that have not begun, by name. */
  readonly #asks = new Map<string, Ask>();
  /** How many asks each session has not heard, as far as this member knows. */
  readonly #unheard = new Map<string, number>();
  readonly #stop = new Abort();
  /** The sessions of those that have names, and are told of as no members. */
  readonly #strangers = new IdMemory(MOST_STRANGERS);
  /** What fails claims fails them in every round, some so and others so: over once it is why none of them has failed. */
  readonly #failing = new Map<string, FailingCall>();

  constructor(of: Claiming) {
    this.#of = of;
  }

  /** Ends all waits. */
  stop(): void {
    this.#stop.abort();
    this.#asks.clear();
    for (const { stop } of this.#waits.values()) stop.abort();
  }

  async ended(): Promise<void> {
    await Promise.all([...this.#waits.values()].map(({ ended }) => ended));
  }

  /**
   * Claims what may be free, one write each, and then asks for what living members have. Resolves after the claims; the
   * waits go on.
   */
  async round(round: Round): Promise<void> {
    const failures = new Set([...this.#missing.values()].map(({ failure }) => failure));
    for (const why of this.#failing.keys()) if (!failures.has(why)) this.#failing.delete(why);
    const due = new Set(round.targets.namesOf(round.me));
    for (const name of this.#missing.keys()) if (!due.has(name)) this.#missing.delete(name);
    for (const [name, { stop }] of this.#waits) if (!due.has(name)) stop.abort();
    for (const name of this.#asks.keys()) if (!due.has(name)) this.#asks.delete(name);
    const isWaiting = (name: string) => this.#waits.has(name) || this.#asks.has(name);
    const open = [...due].filter((name) => !round.isHere(name) && !isWaiting(name));
    let got = 0;
    await inParts(
      open.filter((name) => this.#mayBeFree(name, round)),
      async (name) => {
        if (await this.#claim(name, round)) got += 1;
      },
    );
    if (this.#stop.aborted || !round.session.isHeld) return;
    const held: [string, Missing, MemberRow][] = [];
    for (const [name, missing] of this.#missing) {
      if (missing.failure !== undefined || round.isHere(name) || this.#waits.has(name)) continue;
      if (this.#of.context.nowMs() < missing.retryAtMs) continue;
      const { session } = missing;
      const row = session === undefined ? undefined : round.rows.get(session);
      if (session === undefined || row === undefined) {
        this.#asks.delete(name);
        void this.#wait(name, missing, round, false);
      } else if (row.isLeaving || this.#asks.has(name)) {
        this.#asks.set(name, { session, missing, round });
      } else held.push([name, missing, row]);
    }
    // What this member waits for counts: else it would ask living members although dead ones leave it enough.
    const waiting = this.#waits.size + this.#asks.size;
    const isShort = round.targets.isShort(round.me, round.count + got + waiting);
    for (const [name, missing, row] of held) {
      if (!round.targets.mayAsk(row, isShort)) continue;
      this.#asks.set(name, { session: row.session, missing, round });
    }
    this.#ask();
  }

  /** Begins as many asks as the sessions of the holders have room for. */
  #ask(): void {
    for (const [name, { session, missing, round }] of this.#asks) {
      const unheard = this.#unheard.get(session) ?? 0;
      if (unheard >= ASKS_AT_ONCE) continue;
      this.#asks.delete(name);
      // The next round asks by another session.
      if (!round.session.isHeld) continue;
      this.#unheard.set(session, unheard + 1);
      void this.#heard(session, this.#wait(name, missing, round, true)).then(() => {
        const left = (this.#unheard.get(session) ?? 1) - 1;
        if (left > 0) this.#unheard.set(session, left);
        else this.#unheard.delete(session);
        this.#ask();
      });
    }
  }

  /**
   * Resolves at the end of the wait, or when its polls have shown a renewal of the holder's session: the holder has read
   * its notes then, and removes them. The run of a name may take longer to end.
   */
  async #heard(session: string, ended: Promise<void>): Promise<void> {
    const { sessions, timers } = this.#of.context;
    const fromMs = sessions.of(session)?.sinceMs;
    while (!(await settlesWithin(timers, HEARD_MS, ended))) {
      if (sessions.of(session)?.sinceMs !== fromMs) return;
    }
  }

  /** Whether a claim may succeed, by what the rows show. */
  #mayBeFree(name: string, { rows }: Round): boolean {
    const missing = this.#missing.get(name);
    // After a failure, one attempt a round: each wait in an outage would tell of it again.
    if (missing === undefined || missing.failure !== undefined) return true;
    const row = missing.session === undefined ? undefined : rows.get(missing.session);
    return row !== undefined && row.freed !== missing.freed;
  }

  /** Tries once. Returns whether this member has the name now. Never rejects. */
  async #claim(name: string, round: Round): Promise<boolean> {
    if (this.#stop.aborted || !round.session.isHeld) return false;
    try {
      const lease = await this.#lock(name, round).tryAcquire();
      if (lease === null) this.#miss(name, round, undefined);
      else this.#take(name, lease);
      return lease !== null;
    } catch (error) {
      this.#failed(name, round, error);
      return false;
    }
  }

  /** Waits for the holder, in the background: asks it, or waits for its end. */
  #wait(name: string, before: Missing, round: Round, asks: boolean): Promise<void> {
    const { settings } = this.#of;
    const stop = new Abort();
    const waitMs = asks ? askMs(settings) : 2 * settings.leaseMs;
    const waiting = async (): Promise<void> => {
      try {
        const lease = await this.#lock(name, round).acquire({
          wait: inMs(waitMs),
          signal: abortSignalOf(stop),
          ...(asks ? { ifHeld: announce } : {}),
        });
        if (stop.aborted) await lease[Symbol.asyncDispose]();
        else this.#take(name, lease);
      } catch (error) {
        if (!stop.aborted) this.#failed(name, round, error, before);
      } finally {
        this.#waits.delete(name);
      }
    };
    const ended = waiting();
    this.#waits.set(name, { stop, ended });
    return ended;
  }

  #lock(name: string, { session }: Round) {
    const { locks, group, settings } = this.#of;
    return mutex<NativeTypes>(locks as Holdfast<NativeTypes>, lockNameOf(group, name), {
      session,
      owner: settings.owner,
      poll: POLL,
    });
  }

  #take(name: string, lease: Lease): void {
    this.#missing.delete(name);
    this.#of.granted(name, lease as unknown as HeldLease);
  }

  /** Notes who has the name. */
  #miss(name: string, { rows }: Round, failure: string | undefined, before?: Missing): void {
    const { context, group, settings } = this.#of;
    const held = context.observations.held(refOf(context.format, lockNameOf(group, name)).id);
    const row = held?.session === undefined ? undefined : rows.get(held.session);
    const pauseMs =
      before === undefined
        ? 0
        : Math.min(
            LONGEST_PAUSE_PERIODS * settings.periodMs,
            Math.max(settings.periodMs, 2 * before.pauseMs),
          );
    this.#missing.set(name, {
      session: held?.session,
      freed: row?.freed,
      owner: held?.owner,
      retryAtMs: context.nowMs() + context.jittered(pauseMs),
      pauseMs,
      failure,
    });
  }

  #failed(name: string, round: Round, error: unknown, before?: Missing): void {
    const { group, monitor, report } = this.#of;
    const isRefused = isHoldfastError(error, "not-acquired");
    const why = isOutageError(error) ? "outage" : isHoldfastError(error) ? error.code : "other";
    this.#miss(name, round, isRefused ? undefined : why, before);
    if (this.#stop.aborted || isHoldfastError(error, "closed")) return;
    if (!isRefused) {
      monitor.tell("idle", name, undefined, error);
      const failing = this.#failing.get(why) ?? new FailingCall(this.#of.context, this.#of);
      this.#failing.set(why, failing);
      failing.onFailure(error);
      return;
    }
    const missing = this.#missing.get(name);
    // A member that keeps a name has not seen the group as this one does. It will.
    const isMember =
      missing?.session !== undefined && (round.rows.has(missing.session) || !round.isRead);
    if (isMember) return;
    const who = shown(missing?.owner ?? "an unnamed owner");
    const message = `"${name}" of assignment "${group}" does not run: ${who}, who is no member, has its lock.`;
    const lockName = lockNameOf(group, name);
    const told = new HoldfastError("not-acquired", message, { lockName, cause: error });
    monitor.tell("idle", name, undefined, told);
    // One that is no member may have many of the names.
    const isKnown = missing?.session !== undefined && this.#strangers.has(missing.session);
    if (missing?.session !== undefined) this.#strangers.add(missing.session);
    if ((before?.pauseMs ?? 0) === 0 && !isKnown) report(told);
  }
}

/** Runs the task for each item, a bounded number at once. */
async function inParts<T>(items: readonly T[], task: (item: T) => Promise<void>): Promise<void> {
  let at = 0;
  const worker = async (): Promise<void> => {
    for (let item = items[at++]; item !== undefined; item = items[at++]) await task(item);
  };
  await Promise.all(Array.from({ length: Math.min(CLAIMS_AT_ONCE, items.length) }, worker));
}
