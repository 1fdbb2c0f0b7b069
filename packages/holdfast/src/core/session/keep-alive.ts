import { HoldfastError } from "../../errors.js";
import { refuse } from "../../internal/option-names.js";
import { sleep } from "../../internal/sleep.js";
import { REQUESTS } from "../../native/native-requests.js";
import { SESSIONS } from "../../native/native-sessions.js";
import { Abort, type SignalLike } from "../../platform/abort.js";
import { instantOf } from "../../platform/clock.js";
import { type Again, retry } from "../../platform/retry.js";
import { isJudged, type WriteAnswer } from "../../platform/table.js";
import type { AcquireContext } from "../acquire/context.js";
import type { AcquireSettings } from "../acquire/settings.js";
import { doubling } from "../backoff.js";
import { freeAll } from "../hold/close.js";
import type { Deadline } from "../hold/deadline.js";
import type { Hold } from "../hold/hold.js";
import type { KeepAlive, KeepAliveSource } from "../hold/keep-alive.js";
import { HeldLease } from "../hold/lease.js";
import { freeOnce } from "../hold/release.js";
import { moveTo, renewNow } from "../hold/writes.js";
import { type AnyAcquireOptions, givenIn, resolveLease } from "../options.js";
import { requireCapability } from "../record/capability.js";
import type { Holders, RecordRef } from "../record/format.js";
import type { HeldRecord } from "../record/record.js";
import type { Kept } from "../scheduler.js";
import { noteAbout, refInNote } from "./note.js";
import { openSession } from "./open.js";

// Three writes within the seven days of the TTL, at a negligible cost.
const KEEP_EVERY_MS = 2 * 24 * 3_600_000;
const SHORTEST_SWEEP_PAUSE_MS = 100;
const LONGEST_SWEEP_PAUSE_MS = 10_000;
// Longer than any outage in which the session can stay alive.
const SWEEP_LEASES = 10;

/**
 * A session, for its leases and for its public handle: a single lease that keeps any number of held locks alive.
 * Protocol: spec/protocol.md, "Sessions".
 */
export class SessionKeepAlive implements KeepAlive<Hold>, KeepAliveSource<Hold>, Kept {
  readonly #context: AcquireContext;
  /** The hold of the session's own record. */
  readonly hold: Hold;
  readonly #lease: HeldLease;
  /** All leases on the session, including leases whose records have not moved to the session yet. */
  readonly #leases = new Set<Hold>();
  // Not an AbortSignal, which would warn of a leak: any number of sweeps and acquisitions listen.
  readonly #over = new Abort();
  // Undefined if the session never had a permit.
  #permitCheck: ((ref: RecordRef) => Promise<boolean>) | undefined;
  #isChecking = false;
  #closed: Promise<void> | undefined;

  private constructor(context: AcquireContext, hold: Hold) {
    this.#context = context;
    this.hold = hold;
    this.#lease = new HeldLease(hold);
    hold.lossSignal.signal.addEventListener("abort", () => this.#endLeases());
    context.scheduler.visit(this, context.nowMs() + KEEP_EVERY_MS);
    context.ownSessions.add(hold.ref.name);
  }

  /** Creates the record of the session and renews the record once: two writes. */
  static open(context: AcquireContext, settings: AcquireSettings): Promise<SessionKeepAlive> {
    let life: SessionKeepAlive | undefined;
    const onRenewal = (record: HeldRecord | undefined): void => {
      if (life !== undefined) life.#onRequests(record?.requestedHolders);
    };
    const opened = openSession(context, { ...settings, onRenewal }).then((hold) => {
      life = new SessionKeepAlive(context, hold);
      return life;
    });
    return context.tracked(opened);
  }

  /** The random id of the session, never used twice. Records on the session name the id. */
  get id(): string {
    return this.hold.ref.name;
  }

  /** The owner label in the record of the session, for people to read. */
  get owner(): string {
    return this.hold.settings.owner;
  }

  /** The length of the session without a renewal, in milliseconds. Never changes. */
  get leaseMs(): number {
    return this.hold.leaseMs;
  }

  get renewMs(): number | "manual" {
    return this.hold.settings.renewMs;
  }

  get deadline(): Deadline {
    return this.hold.deadline;
  }

  /** The number of leases on the session, including leases that have not moved to the session yet. */
  get size(): number {
    return this.#leases.size;
  }

  /** Whether the session is alive now, computed from the clocks at every call. Costs no request. */
  get isHeld(): boolean {
    return !this.#over.aborted && this.hold.isHeld;
  }

  get signal(): AbortSignal {
    return this.#lease.signal;
  }

  get over(): SignalLike {
    return this.#over;
  }

  /** Ends the session and every lease on the session; see `Session.close`. Idempotent. */
  close(leases: "release" | "end"): Promise<void> {
    this.#closed ??= this.#context.tracked(this.#closeOnce(leases));
    return this.#closed;
  }

  current(): SessionKeepAlive | undefined {
    return this.isHeld ? this : undefined;
  }

  accepts(context: AcquireContext, leaseMs: number, renewMs: number | "manual"): boolean {
    if (context !== this.#context) {
      throw refuse(
        "The option `session` names a session of another client. Open a session with this client.",
      );
    }
    if (leaseMs === this.leaseMs && renewMs !== "manual") return true;
    throw this.#otherLengths();
  }

  checkLease(layers: readonly AnyAcquireOptions[]): void {
    const lease = givenIn(layers, "lease");
    if (lease !== undefined && resolveLease(lease) !== this.leaseMs) throw this.#otherLengths();
  }

  #otherLengths(): HoldfastError {
    return refuse(
      `The session renews its leases, and each lease has the length of the session, ${this.leaseMs} ms. ` +
        "Leave out both `lease` and `renew`, or leave out `session`.",
    );
  }

  refusal(): HoldfastError | undefined {
    if (this.isHeld) return undefined;
    return new HoldfastError(
      "closed",
      `Session ${this.id} has ended, so no lease can begin on the session. Open a new session.`,
      { cause: this.hold.loss },
    );
  }

  begun(hold: Hold): void {
    this.#leases.add(hold);
  }

  ended(hold: object): void {
    this.#leases.delete(hold as Hold);
  }

  /** Resolves with this session, for a permit. Rejects with `closed` after its end. */
  async opened(_user: object): Promise<SessionKeepAlive> {
    const refusal = this.refusal();
    if (refusal !== undefined) throw refusal;
    return this;
  }

  check(): void {
    this.hold.check();
  }

  renewNow(): Promise<void> {
    return renewNow(this.hold);
  }

  async adopt(hold: Hold): Promise<void> {
    // A lease of a client with a shared session may have begun before this session.
    this.#leases.add(hold);
    // If the move fails for good, the lease has ended and has reported the loss.
    await moveTo(hold, this, this.id).catch((error: unknown) => {
      if (hold.isHeld) throw error;
    });
    // If the holder released the lease while the move waited, the lease called only the `ended` of its first source. The
    // same holds for a lease that renews itself, because its caller changed the length while the move waited.
    if (!hold.isHeld || hold.living.life === undefined) this.#leases.delete(hold);
  }

  keep(hold: Hold): void {
    this.#leases.add(hold);
    hold.living.mayMoveTo(this);
    hold.moved();
  }

  /** Frees a record, with retries while the session is alive. In the end it ends the session to free the record. */
  sweep(ref: RecordRef, from: Holders, keepData: boolean, afterMs = 0): void {
    this.untilAnswered(() => {
      // From now on a late copy of its grant is of no use to anyone.
      if (from.known !== undefined) this.#context.abandon(from.known.holder);
      return freeOnce(this.#context, ref, from, { keepData });
    }, afterMs);
  }

  untilAnswered(write: () => Promise<WriteAnswer | Again>, afterMs = 0): void {
    const context = this.#context;
    context.inBackground(async () => {
      if (afterMs > 0) await sleep(context.timers, afterMs, false, this.#over);
      const untilMs = context.nowMs() + SWEEP_LEASES * this.leaseMs;
      const attempt = async () => {
        const answer = await write();
        const isAnswered = isJudged(answer);
        // A session that stays alive would keep the record held.
        if (!isAnswered && context.nowMs() > untilMs) this.#endForGood();
        return answer;
      };
      if (!this.isHeld) return;
      await retry(context, attempt, {
        backoff: doubling(SHORTEST_SWEEP_PAUSE_MS, LONGEST_SWEEP_PAUSE_MS),
        isOver: () => !this.isHeld,
        signal: this.#over,
        onMisconfigured: "retry",
        keepsAlive: false,
      });
    });
  }

  /** Extends the TTL of the records on the session, which have no renewals. The scheduler calls this. */
  tend(): number {
    this.#context.inBackground(() => this.#keepFromExpiring());
    return this.#context.nowMs() + KEEP_EVERY_MS;
  }

  async #keepFromExpiring(): Promise<void> {
    const sessions = requireCapability(this.#context.format, SESSIONS);
    for (const hold of [...this.#leases]) {
      await hold.requests.run(async () => {
        if (!hold.living.isMoved) return;
        const options = { leaseMs: this.leaseMs, wallMs: this.#context.wallMs() };
        const write = sessions.keepFromExpiring(hold.ref, hold.held, options);
        // Without an answer, the next of the three rounds within the TTL repeats the write.
        await hold.send({ write, isIn: () => true });
      });
    }
  }

  // The request to a holder is in the record of the lock, which no renewal of the session reads.
  #onRequests(holders: readonly string[] | undefined): void {
    if (holders === undefined) return;
    this.#checkPermits(holders);
    const asked = new Set(holders);
    for (const hold of this.#leases) {
      const isAsked = asked.delete(hold.held.holder);
      if (isAsked) this.#context.inBackground(() => this.#hear(hold));
    }
    this.#context.inBackground(() => this.#forget([...asked]));
  }

  /** Removes the notes to holders that have ended. A permit may be granted whose grant is not answered yet. */
  async #forget(notes: readonly string[]): Promise<void> {
    const { format, ownPermits } = this.#context;
    const requests = requireCapability(format, REQUESTS);
    for (const note of notes) {
      if (refInNote(format, note) !== undefined || ownPermits.has(note)) continue;
      await this.#context.write(requests.settle(this.hold.ref, note));
    }
  }

  // A holder can be interrupted at each of its grants, so that its notes must not stay in the session's row.
  async #hear(hold: Hold): Promise<void> {
    const context = this.#context;
    const requests = requireCapability(context.format, REQUESTS);
    // Before the read: a note that comes after the read is removed by nobody.
    const write = requests.settle(this.hold.ref, hold.held.holder);
    await context.write(write);
    if (!hold.isHeld) return;
    await retry(context, () => hold.look(), {
      backoff: doubling(SHORTEST_SWEEP_PAUSE_MS, LONGEST_SWEEP_PAUSE_MS),
      isOver: () => !hold.isHeld,
      signal: this.#over,
      onMisconfigured: "retry",
      keepsAlive: false,
    });
  }

  /**
   * Sets how the session frees the unused permits of a record that name it. `check` resolves to whether DynamoDB answered.
   * Only the first call has an effect: every acquisition of the session passes the same check.
   */
  checkPermitsBy(check: (ref: RecordRef) => Promise<boolean>): void {
    this.#permitCheck ??= check;
  }

  /** Checks the records that waiters have asked about, and then removes their notifications. One run at a time. */
  #checkPermits(notes: readonly string[]): void {
    const permitCheck = this.#permitCheck;
    const context = this.#context;
    const asked = notes.flatMap((note) => refInNote(context.format, note) ?? []);
    if (permitCheck === undefined || asked.length === 0 || this.#isChecking) return;
    this.#isChecking = true;
    context.inBackground(async () => {
      for (const ref of asked) {
        if (!this.isHeld) break;
        // The next renewal shows the notification again. One record that does not answer must not block the others.
        if (!(await permitCheck(ref))) continue;
        const write = requireCapability(context.format, REQUESTS).settle(
          this.hold.ref,
          noteAbout(ref),
        );
        await context.write(write);
      }
      this.#isChecking = false;
    });
  }

  #endLeases(): void {
    this.#finish();
    const reason = this.hold.loss?.reason === "closed" ? "closed" : "session-ended";
    const now = instantOf(this.#context.clock);
    for (const hold of [...this.#leases]) {
      if (hold.living.life === this) hold.end(reason, undefined, now);
    }
  }

  #endForGood(): void {
    this.close("end").catch((error: HoldfastError) => this.#context.report(error));
  }

  async #closeOnce(leases: "release" | "end"): Promise<void> {
    this.#finish();
    const holds = [...this.#leases];
    const now = instantOf(this.#context.clock);
    for (const hold of holds) hold.end("closed", undefined, now);
    // The end of the session does not free a record that does not name it yet, which would stay held for its whole lease.
    const own = holds.filter((hold) => !hold.living.isMoved);
    const errors = await freeAll(this.#context, leases === "release" ? holds : own);
    for (const error of errors) {
      if (own.some(({ ref }) => ref.name === error.lockName)) this.#context.report(error);
    }
    await this.#lease.release();
  }

  #finish(): void {
    this.#context.scheduler.forget(this);
    this.#context.ownSessions.delete(this.id);
    this.#over.abort();
  }
}
