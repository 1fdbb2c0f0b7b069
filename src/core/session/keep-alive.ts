import { HoldfastError, isHoldfastError } from "../../errors.js";
import { sleep } from "../../internal/sleep.js";
import { Abort, type SignalLike } from "../../platform/abort.js";
import { Cancellation } from "../acquire/cancellation.js";
import type { AcquireContext } from "../acquire/context.js";
import { GrantWrite } from "../acquire/grant.js";
import type { AcquireSettings } from "../acquire/settings.js";
import { emitGrant } from "../events.js";
import { freeAll } from "../hold/close.js";
import type { Deadline } from "../hold/deadline.js";
import { Hold } from "../hold/hold.js";
import type { KeepAlive, KeepAliveSource } from "../hold/keep-alive.js";
import { Lease } from "../hold/lease.js";
import { freeOnce } from "../hold/release.js";
import { moveTo, renewNow } from "../hold/writes.js";
import type { Holders, RecordRef } from "../record/format.js";
import type { HeldRecord } from "../record/record.js";
import type { Kept } from "../scheduler.js";

// Well within the seven days of the TTL, and seldom enough to cost nothing.
const KEEP_EVERY_MS = 2 * 24 * 3_600_000;
const SHORTEST_SWEEP_PAUSE_MS = 100;
const LONGEST_SWEEP_PAUSE_MS = 10_000;
// Longer than an outage that the session itself could outlive.
const SWEEP_LEASES = 10;

/**
 * A session as its leases and its public handle know it: one lease that any number of held locks live
 * by. Protocol: spec/protocol.md, "Sessions".
 */
export class SessionKeepAlive implements KeepAlive<Hold>, KeepAliveSource<Hold>, Kept {
  readonly #context: AcquireContext;
  readonly #hold: Hold;
  readonly #lease: Lease;
  /** All leases that were begun to live by it, or adopted, whether or not they have moved. */
  readonly #leases = new Set<Hold>();
  // Any number of sweeps and acquisitions listen, at which an AbortSignal would warn of a leak.
  readonly #over = new Abort();
  #closed: Promise<void> | undefined;

  private constructor(context: AcquireContext, hold: Hold) {
    this.#context = context;
    this.#hold = hold;
    this.#lease = Lease.on(hold);
    hold.lossSignal.signal.addEventListener("abort", () => this.#endLeases());
    context.scheduler.visit(this, context.nowMs() + KEEP_EVERY_MS);
  }

  /** Makes the session's record, and renews it once: two writes. */
  static open(context: AcquireContext, settings: AcquireSettings): Promise<SessionKeepAlive> {
    let life: SessionKeepAlive | undefined;
    const onRenewal = (record: HeldRecord | undefined): void => {
      if (life !== undefined) life.#tell(record?.asked);
    };
    const opened = open(context, { ...settings, onRenewal }).then((hold) => {
      life = new SessionKeepAlive(context, hold);
      return life;
    });
    return context.tracked(opened);
  }

  /** Random, and never used twice. Records on the session name it. */
  get id(): string {
    return this.#hold.ref.name;
  }

  /** The label for people that the session's record carries. */
  get owner(): string {
    return this.#hold.settings.owner;
  }

  /** For how long the session lasts without a renewal, in milliseconds; the same for its whole life. */
  get leaseMs(): number {
    return this.#hold.leaseMs;
  }

  get renewMs(): number | "manual" {
    return this.#hold.settings.renewMs;
  }

  get deadline(): Deadline {
    return this.#hold.deadline;
  }

  /** How many leases live by it, those included that have not moved to it yet. */
  get size(): number {
    return this.#leases.size;
  }

  /** Whether it is alive now, computed from the clocks at every question. Costs no request. */
  get isHeld(): boolean {
    return !this.#over.aborted && this.#hold.isHeld;
  }

  get signal(): AbortSignal {
    return this.#lease.signal;
  }

  get over(): SignalLike {
    return this.#over;
  }

  /** Ends it and every lease on it; see `Session.close`. Idempotent. */
  close(leases: "release" | "end"): Promise<void> {
    this.#closed ??= this.#context.tracked(this.#closeOnce(leases));
    return this.#closed;
  }

  current(): KeepAlive<Hold> | undefined {
    return this.isHeld ? this : undefined;
  }

  accepts(context: AcquireContext, leaseMs: number, renewMs: number | "manual"): boolean {
    if (context !== this.#context) throw refuse("The option `session` is of another client.");
    if (leaseMs === this.leaseMs && renewMs !== "manual") return true;
    throw refuse(
      `A lease on a session has the session's length, ${this.leaseMs} ms, and its renewals: leave out ` +
        "`lease` and `renew`, or `session`.",
    );
  }

  refusal(): HoldfastError | undefined {
    if (this.isHeld) return undefined;
    return new HoldfastError(
      "closed",
      `The session ${this.id} has ended, so no lease can begin on it. Open another one.`,
      { cause: this.#hold.loss },
    );
  }

  begun(hold: Hold): void {
    this.#leases.add(hold);
  }

  ended(hold: Hold): void {
    this.#leases.delete(hold);
  }

  check(): void {
    this.#hold.check();
  }

  renewNow(): Promise<void> {
    return renewNow(this.#hold);
  }

  async adopt(hold: Hold): Promise<void> {
    // One that the client moves here was not begun for this very session.
    this.#leases.add(hold);
    // Refused for good, the lease has ended and has told so itself.
    await moveTo(hold, this, this.id).catch((error: unknown) => {
      if (hold.isHeld) throw error;
    });
    // Released while the move waited for its turn, it told only the source that it was begun by.
    if (!hold.isHeld) this.#leases.delete(hold);
  }

  /** Goes on as long as the session lives, and ends it rather than leave a lock to nobody. */
  sweep(ref: RecordRef, from: Holders, keepData: boolean, afterMs = 0): void {
    const context = this.#context;
    context.inBackground(async () => {
      if (afterMs > 0) await sleep(context.timers, afterMs, false, this.#over);
      const untilMs = context.nowMs() + SWEEP_LEASES * this.leaseMs;
      let pauseMs = SHORTEST_SWEEP_PAUSE_MS;
      while (this.isHeld) {
        const answer = await freeOnce(context, ref, from, keepData);
        if (answer.kind === "applied" || answer.kind === "refused") return;
        if (context.nowMs() > untilMs) this.#endForGood();
        await sleep(context.timers, context.jittered(pauseMs), false, this.#over);
        pauseMs = Math.min(2 * pauseMs, LONGEST_SWEEP_PAUSE_MS);
      }
    });
  }

  /** Called by the keeper: keeps the TTL of records that are never renewed ahead of them. */
  tend(): number {
    this.#context.inBackground(() => this.#keepFromExpiring());
    return this.#context.nowMs() + KEEP_EVERY_MS;
  }

  async #keepFromExpiring(): Promise<void> {
    const { format } = this.#context;
    for (const hold of [...this.#leases]) {
      await hold.requests.run(async () => {
        if (!hold.living.isMoved) return;
        const options = { leaseMs: this.leaseMs, wallMs: this.#context.wallMs() };
        const write = format.keepFromExpiring(hold.ref, hold.held, options);
        // Not answered, it is done at the next round: there are three within the TTL.
        await hold.send({ write, isIn: () => true });
      });
    }
  }

  // The note itself is in the lock's own record, which nothing else reads while the session is renewed.
  #tell(asked: readonly string[] | undefined): void {
    if (asked === undefined) return;
    for (const hold of this.#leases) {
      if (asked.includes(hold.held.holder)) this.#context.inBackground(() => hold.look());
    }
  }

  #endLeases(): void {
    this.#finish();
    const isClosed = this.#hold.loss?.reason === "closed";
    for (const hold of [...this.#leases]) {
      if (hold.living.life === this) hold.end(isClosed ? "closed" : "session-ended");
    }
  }

  #endForGood(): void {
    this.close("end").catch((error: HoldfastError) => this.#context.report(error));
  }

  async #closeOnce(leases: "release" | "end"): Promise<void> {
    this.#finish();
    const holds = [...this.#leases];
    for (const hold of holds) hold.end("closed");
    if (leases === "release") await freeAll(this.#context, holds);
    await this.#lease.release();
  }

  #finish(): void {
    this.#context.scheduler.forget(this);
    this.#over.abort();
  }
}

const refuse = (message: string): HoldfastError => new HoldfastError("invalid-argument", message);

async function open(context: AcquireContext, settings: AcquireSettings): Promise<Hold> {
  // Each try under a new id: an old one may have been made, and be neutralised, at any later time.
  const fromMs = context.nowMs();
  const refOf = (): RecordRef => context.format.refOf("session", context.random.id());
  let ref = refOf();
  // One for all tries: each of its own would be given the whole wait anew.
  const cancellation = new Cancellation(context, [ref], settings);
  try {
    for (; ; ref = refOf()) {
      if (cancellation.isStopped) throw cancellation.error();
      const claim = { kind: "claim", onto: { kind: "absent" } } as const;
      const begun = await new GrantWrite(context, ref, settings, cancellation, claim).run();
      if (typeof begun === "object") {
        const localQueue = context.localQueues.of(ref.id);
        localQueue.tryEnter();
        const hold = new Hold(context, ref, localQueue, begun);
        emitGrant(hold, "claim", context.nowMs() - fromMs);
        await firstRenewal(hold, cancellation);
        return hold;
      }
      // Without a wait there is one try, as at an acquisition.
      if (settings.waitMs === 0) throw cancellation.error();
    }
  } catch (cause) {
    throw notOpened(cause);
  } finally {
    cancellation.dispose();
  }
}

// A renewal that is not answered before the wait is over ends the session, which no record names yet.
async function firstRenewal(hold: Hold, cancellation: Cancellation): Promise<void> {
  let end = (): void => undefined;
  const stopped = new Promise<never>((_, reject) => {
    end = () => {
      // Where DynamoDB does not answer that either, the row dies with its lease.
      hold.context.inBackground(() =>
        Lease.on(hold)
          .release()
          .catch(() => undefined),
      );
      reject(cancellation.error());
    };
  });
  cancellation.signal.addEventListener("abort", end);
  if (cancellation.isStopped) end();
  try {
    await Promise.race([renewNow(hold), stopped]);
  } finally {
    cancellation.signal.removeEventListener("abort", end);
  }
}

function notOpened(cause: unknown): unknown {
  if (!isHoldfastError(cause)) return cause;
  const { code, reason } = cause;
  return new HoldfastError(code, `The session was not opened: ${cause.message}`, { cause, reason });
}
