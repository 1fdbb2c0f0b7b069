import { type ClientParts, type Holdfast, partsOf } from "../client.js";
import { FailingCall } from "../core/failing-call.js";
import { checkFunction, type HeldLease } from "../core/hold/lease.js";
import type { FormatTypes } from "../core/record/format-types.js";
import type { Session } from "../core/session/session.js";
import { unavailableError } from "../core/unavailable.js";
import { HoldfastError, isHoldfastError } from "../errors.js";
import { causeText } from "../internal/cause-text.js";
import { inMs } from "../internal/duration.js";
import { refuse } from "../internal/option-names.js";
import { perKey } from "../internal/per-key.js";
import { settlesWithin } from "../internal/settles-within.js";
import { sleep } from "../internal/sleep.js";
import { lifeOfSession } from "../locks/locking.js";
import { openSession } from "../locks/open-session.js";
import { Abort, abortSignalOf, onAbort } from "../platform/abort.js";
import type { Timer } from "../platform/timers.js";
import { Claims } from "./claims.js";
import { type AssignmentChange, ChangeMonitor } from "./events.js";
import { Group, type Told } from "./group.js";
import { type AssignOptions, type AssignSettings, checkedNames, resolveAssign } from "./options.js";
import { ASKS_AT_ONCE, Place, type Running } from "./place.js";
import { digestOf } from "./share.js";
import { Targets } from "./targets.js";

// The longest key of a row in DynamoDB, less what stands before the session.
const LONGEST_SESSION_BYTES = 1_024 - "member/".length;
const JOIN_PART = 1 / 10;
const SOON_MS = 1_000;
/** So many renewals without an ask end the frequent ones. */
const QUIET_RENEWALS = 3;
/** A single look without an answer is no news. */
const LOOKS_TOLD = 2;

/**
 * This process's part of a group that shares names: {@link assign}. Does nothing before {@link start}, and is of no use
 * after {@link stop}.
 */
export class Assignment implements AsyncDisposable {
  /** The name of the group. */
  readonly group: string;
  readonly #locks: Holdfast<FormatTypes>;
  readonly #parts: ClientParts;
  readonly #settings: AssignSettings;
  readonly #monitor: ChangeMonitor;
  readonly #members: Group;
  readonly #targets: Targets;
  readonly #claims: Claims;
  readonly #places = new Map<string, Place>();
  readonly #running: Running;
  readonly #stop = new Abort();
  #names: readonly string[] = [];
  #asked: Promise<readonly string[]> | undefined;
  /** Ends the wait for the names: a stop does not wait for them. */
  #cutAsking: (() => void) | undefined;
  #session: Session | undefined;
  /** How often this member has given up a name. */
  #freed = 0;
  /** How many asks this member has heard since it last renewed because of them: other renewals leave it. */
  #asks = 0;
  #hearing: Promise<void> | undefined;
  #timer: Timer | undefined;
  #timerAtMs = Number.POSITIVE_INFINITY;
  #round: Promise<void> | undefined;
  #started: Promise<void> | undefined;
  #end = (): void => undefined;
  readonly #ended = new Promise<void>((resolve) => {
    this.#end = resolve;
  });
  readonly #failing: FailingCall;
  /** How many looks in a row did not see the group, or could not write this member's row. */
  #blindLooks = 0;
  /** The least pause before a look at a session that is about to die: each look that fails doubles it. */
  #pauseMs = SOON_MS;
  #stopped: Promise<void> | undefined;

  /** @internal Created by {@link assign}. */
  constructor(locks: Holdfast<FormatTypes>, group: string, options: AssignOptions) {
    const parts = partsOf(locks, "assign()");
    const { context } = parts;
    const settings = resolveAssign(parts, group, options);
    this.group = group;
    this.#locks = locks;
    this.#parts = parts;
    this.#settings = settings;
    this.#monitor = new ChangeMonitor(group, settings.owner, (cause) => this.#report(cause));
    this.#members = new Group(context, group);
    this.#targets = new Targets(context, settings.periodMs);
    this.#failing = new FailingCall(context, { report: (cause) => this.#report(cause) });
    this.#running = {
      ...{ context, group, settings, monitor: this.#monitor },
      onWanted: (place) => this.#onWanted(place),
    };
    this.#claims = new Claims({
      ...{ context, group, settings, monitor: this.#monitor, locks: this.#locks },
      granted: (name, lease) => this.#granted(name, lease),
      report: (cause) => this.#report(cause),
    });
  }

  /** The names whose lock this process has now, by the clocks, in the order of their grants. Sends no request. */
  get mine(): readonly string[] {
    return [...this.#places.values()].filter(({ isKept }) => isKept).map(({ name }) => name);
  }

  /**
   * Joins the group: opens a session, writes this member's row, looks at the group a tenth of a period later, and takes the
   * free ones of its names. Resolves then; names that others have follow. Three writes, two queries, and one write for each
   * name. Keeps the process alive until {@link stop}, or `close()` of the client. Rejects as `openSession()`, with `closed`
   * after the stop, and with `invalid-argument` if the client has started another assignment of the group. Idempotent.
   */
  start(): Promise<void> {
    if (this.#stop.aborted) return Promise.reject(this.#closed());
    this.#started ??= this.#start().catch(async (error: unknown) => {
      await this.#session?.close().catch(() => undefined);
      this.#end();
      throw error;
    });
    return this.#started;
  }

  /**
   * Leaves the group, and takes no further names. The names run on until the other members ask for them, which they do at
   * their next look, so for a period and two seconds at most; not if there is no other member, or the client closes. Then
   * aborts the signals of all runs, and gives each name up when its run has ended, after `stopTimeout` at the latest. Then
   * closes the session. One write for each name, one a second meanwhile, and four. Rejects as `close()` of a session.
   * Idempotent.
   */
  stop(): Promise<void> {
    this.#stopped ??= this.#stopOnce().finally(() => this.#end());
    return this.#stopped;
  }

  /** Stops without throwing: passes the error of an unanswered request to the client's `onError`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.stop().catch((error: unknown) => this.#report(error));
  }

  /** Calls `listener` at each change. Returns a function that ends the calls. Throws `invalid-argument`. */
  onChange(listener: (change: AssignmentChange) => void): () => void {
    checkFunction("onChange()", listener);
    return this.#monitor.on(listener);
  }

  async #start(): Promise<void> {
    const { context, running } = this.#parts;
    if (this.#stop.aborted || context.closing.aborted) throw this.#closed();
    const groups = groupsOf(this.#parts);
    if (groups.has(this.group)) throw this.#twice();
    groups.add(this.group);
    // The client's `close()` waits for the runs. What is left after that, it ends itself.
    const handle = { ended: this.#ended, forsake: () => this.#forsake() };
    running.add(handle);
    const forget = onAbort(context.closing, () => void this.stop().catch(() => undefined));
    void this.#ended.then(() => {
      groups.delete(this.group);
      running.delete(handle);
      forget();
    });
    // A wrong table or a missing permission shows before anything is written.
    await this.#members.look();
    this.#names = await this.#askNames();
    if (this.#stop.aborted) throw this.#closed();
    await this.#join();
    if (context.closing.aborted) throw this.#closed();
    await this.#members.tell(this.#told());
    await sleep(context.timers, this.#settings.periodMs * JOIN_PART, true, this.#stop);
    if (!this.#stop.aborted) await this.#look();
  }

  /** Opens a session. Another one after a loss is another member. */
  async #join(): Promise<void> {
    const { leaseMs, periodMs, owner } = this.#settings;
    const session = await openSession(this.#locks, {
      lease: inMs(leaseMs),
      renew: inMs(periodMs),
      owner,
      // A stop does not wait for the end of an outage.
      signal: abortSignalOf(this.#stop),
    }).catch((error: unknown) => {
      throw this.#stop.aborted ? this.#closed() : error;
    });
    if (Buffer.byteLength(session.id) > LONGEST_SESSION_BYTES) {
      await session.close();
      throw refuse(
        `The client's option \`sessionPrefix\` is too long for an assignment: a session's id has at most ${LONGEST_SESSION_BYTES} bytes here.`,
      );
    }
    this.#session = session;
    session.signal.addEventListener("abort", () => this.#soon(0), { once: true });
  }

  /** One look at the group, and what follows from it. Plans the next one. Never rejects. */
  #look(): Promise<void> {
    this.#timer?.cancel();
    this.#timerAtMs = Number.POSITIVE_INFINITY;
    this.#round ??= this.#lookOnce()
      .then(
        () => {
          this.#failing.onSuccess();
          this.#pauseMs = this.#members.trouble === undefined ? SOON_MS : 2 * this.#pauseMs;
        },
        (error: unknown) => {
          this.#pauseMs *= 2;
          if (!this.#stop.aborted) this.#failing.onFailure(error);
        },
      )
      .finally(() => {
        this.#round = undefined;
        const deathMs = this.#members.nextDeathMs - this.#parts.context.nowMs();
        this.#soon(Math.min(this.#settings.periodMs, Math.max(this.#pauseMs, deathMs)));
      });
    return this.#round;
  }

  /** Plans a look in `delayMs`, unless an earlier one is planned. */
  #soon(delayMs: number): void {
    const { context } = this.#parts;
    const atMs = context.nowMs() + delayMs;
    if (this.#stop.aborted || this.#round !== undefined || atMs >= this.#timerAtMs) return;
    this.#timer?.cancel();
    this.#timerAtMs = atMs;
    this.#timer = context.timers.set(delayMs, true, () => void this.#look());
  }

  async #lookOnce(): Promise<void> {
    if (this.#session?.isHeld !== true) await this.#join();
    const me = this.#session?.id;
    if (me === undefined) return;
    this.#names = await this.#askNames();
    const isRead = await this.#members.look();
    if (isRead) await this.#members.watch(me);
    if (this.#stop.aborted || this.#session?.isHeld !== true) return;
    this.#targets.see(this.#told(), this.#members.rows, this.#names);
    this.#giveUp();
    await this.#claims.round({
      me,
      session: this.#session,
      targets: this.#targets,
      rows: this.#members.rows,
      isRead,
      isHere: (name) => this.#places.has(name),
      count: this.#places.size,
    });
    if (!this.#stop.aborted) await this.#members.tell(this.#told());
    const { trouble } = this.#members;
    this.#blindLooks = trouble === undefined ? 0 : this.#blindLooks + 1;
    if (trouble !== undefined && this.#blindLooks >= LOOKS_TOLD) {
      const { group } = this;
      throw unavailableError(
        group,
        "has no contact with its members",
        trouble,
        `Assignment "${group}"`,
      );
    }
    if (this.#names.length > 0 && this.#targets.isEmpty) throw this.#noTaker();
  }

  /** Stops what is not to run here. A name that another member should have runs on until that one asks. */
  #giveUp(): void {
    const names = new Set(this.#names);
    for (const place of this.#places.values()) {
      if (!names.has(place.name)) place.revoke("revoked");
      else if (this.#isToMove(place)) place.revoke("moved");
    }
  }

  /** Whether the member that should have the name waits for it. Another one that waits has an old view. */
  #isToMove(place: Place): boolean {
    if (this.#stop.aborted) return place.isWanted();
    const target = this.#targets.of(place.name);
    if (target === undefined || target === this.#session?.id) return false;
    return place.isWanted(this.#members.rows.get(target)?.owner);
  }

  #onWanted(place: Place): void {
    if (this.#isToMove(place)) place.revoke("moved");
    // The one that waits may know of a member that this one has not seen.
    else this.#soon(SOON_MS);
    this.#asks += 1;
    // Who asks for so many may have more to ask for once these are heard.
    if (this.#asks >= ASKS_AT_ONCE) this.#hearing ??= this.#hear();
  }

  /** Renews the session every second, which shows who asks, until nobody does. Never rejects. */
  async #hear(): Promise<void> {
    const session = this.#session;
    for (let quiet = 0; quiet < QUIET_RENEWALS; quiet = this.#asks > 0 ? 0 : quiet + 1) {
      this.#asks = 0;
      await sleep(this.#parts.context.timers, SOON_MS, true, this.#stop);
      if (this.#stop.aborted || session?.isHeld !== true) break;
      await lifeOfSession(session)
        .renewNow()
        .catch(() => undefined);
    }
    this.#hearing = undefined;
  }

  #granted(name: string, lease: HeldLease): void {
    const place = new Place(this.#running, name, lease);
    this.#places.set(name, place);
    if (this.#stop.aborted) place.revoke("revoked");
    void place.released.then(() => {
      this.#freed += 1;
    });
    // If this member should have the name all the same, the next look shows it.
    void place.ended.then(() => {
      this.#places.delete(name);
    });
  }

  #told(): Told {
    const { weight, leaseMs, owner } = this.#settings;
    const count = [...this.#places.values()].filter(({ isKept }) => isKept).length;
    const names = digestOf(this.#names);
    const session = this.#session?.id ?? "";
    const isLeaving = this.#stop.aborted;
    return { session, owner, weight, leaseMs, count, freed: this.#freed, names, isLeaving };
  }

  /** Asks for the names again. The last names stay without an answer. */
  async #askNames(): Promise<readonly string[]> {
    const { names, periodMs } = this.#settings;
    const { context } = this.#parts;
    if (typeof names !== "function") return checkedNames(context.format, this.group, names);
    // Nobody would hear of its failure.
    if (this.#stop.aborted) return this.#names;
    try {
      // First: `names` may itself stop the member.
      const cut = new Promise<void>((resolve) => {
        this.#cutAsking = resolve;
      });
      this.#asked ??= (async () => names())().finally(() => {
        this.#asked = undefined;
      });
      const asked = this.#asked;
      const isInTime = await settlesWithin(context.timers, periodMs, Promise.race([asked, cut]));
      if (this.#stop.aborted) return this.#names;
      if (isInTime) {
        return checkedNames(context.format, this.group, await asked);
      }
      throw new Error(`It did not answer within ${periodMs} ms.`);
    } catch (cause) {
      const message = `The function \`names\` of assignment "${this.group}" failed${causeText(cause)}. The last ${this.#names.length} names stay.`;
      context.report(new HoldfastError("outcome-unknown", message, { cause }));
      return this.#names;
    }
  }

  async #stopOnce(): Promise<void> {
    this.#stop.abort();
    this.#timer?.cancel();
    this.#cutAsking?.();
    this.#claims.stop();
    await this.#started?.catch(() => undefined);
    await this.#round;
    await this.#claims.ended();
    const session = this.#session;
    if (session === undefined) return;
    await this.#members.tell(this.#told()).catch(() => undefined);
    await this.#handOver(session);
    const places = [...this.#places.values()];
    for (const place of places) place.revoke("revoked");
    await Promise.all(places.map(({ released }) => released));
    await this.#members.leave(session.id).catch(() => undefined);
    await session.close();
  }

  /** Lets the names run on until the others ask for them, which they do at their next look. */
  async #handOver(session: Session): Promise<void> {
    const { context } = this.#parts;
    const { periodMs } = this.#settings;
    const takers = [...this.#members.rows.values()].filter(
      (row) => row.session !== session.id && row.weight > 0 && !row.isLeaving,
    );
    if (takers.length === 0) return;
    for (const place of this.#places.values()) if (place.isWanted()) place.revoke("moved");
    const untilMs = context.nowMs() + periodMs + 2 * SOON_MS;
    while (context.nowMs() < untilMs && session.isHeld && !context.closing.aborted) {
      if ([...this.#places.values()].every(({ isKept }) => !isKept)) return;
      await sleep(context.timers, SOON_MS, true, context.closing);
      // The renewal shows who asks.
      await lifeOfSession(session)
        .renewNow()
        .catch(() => undefined);
    }
  }

  /** Ends the session in this process, and leaves it to expire, if a run goes on: its name must not run elsewhere. */
  #forsake(): void {
    const isRunning = [...this.#places.values()].some((place) => place.isRunning);
    if (isRunning && this.#session?.isHeld === true)
      lifeOfSession(this.#session).hold.end("closed");
  }

  #noTaker(): HoldfastError {
    return new HoldfastError(
      "not-acquired",
      `None of the ${this.#names.length} names of assignment "${this.group}" runs: every member has the weight 0.`,
    );
  }

  #closed(): HoldfastError {
    return new HoldfastError(
      "closed",
      `Assignment "${this.group}" has stopped, or its client is closed. Create another one.`,
    );
  }

  // The members of one client would wait for each other in its local queues, and so never ask each other for a name.
  #twice(): HoldfastError {
    return refuse(
      `This client has started an assignment of "${this.group}" already. For a larger share, use \`weight\`.`,
    );
  }

  #report(cause: unknown): void {
    const message = `Assignment "${this.group}" failed in part${causeText(cause)}, and goes on.`;
    this.#parts.context.report(
      isHoldfastError(cause) ? cause : new HoldfastError("outcome-unknown", message, { cause }),
    );
  }
}

/** The groups whose assignments a client has started. */
const groupsOf = /* @__PURE__ */ perKey((_: ClientParts) => new Set<string>());

/**
 * Shares names over the processes that call this with the same group: each name runs on one of them, evenly by weight. When a
 * process comes, it asks the others for its part; when one stops, or dies, the others take over what it had. Sends no request
 * before `start()`. Throws `invalid-argument`.
 *
 * **Not** promised:
 * - More than the lock of a name promises: two runs can overlap after a pause or an outage, as two holders can, and when a run
 *   ignores its signal. Protect data by `condition(lease)` or `lease.fence`. The lock of a name is `mutex(locks,
 *   "GROUP/NAME")`.
 * - A certain member for a name. Members that see the group differently do not disturb each other: a name stays where it runs
 *   until the member that should have it asks.
 * - The least number of moves. A member that comes takes its part from all others, and nothing moves between these.
 *
 * While nothing moves, a member costs one write, one query and one read of half a unit a period, whatever the number of names.
 * A name costs two writes when a member takes it, one when it gives it up; a move costs two more writes, a read, and the polls
 * of a waiter. Needs native records in a table with a sort key, and the permissions of sessions and fair locks.
 *
 * Rendezvous hashing is by Thaler and Ravishankar; the Kinesis Client Library made the use of leases for this known.
 */
export function assign(
  locks: Holdfast<FormatTypes>,
  group: string,
  options: AssignOptions,
): Assignment {
  return new Assignment(locks, group, options);
}
