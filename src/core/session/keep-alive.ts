import { HoldfastError, isHoldfastError } from "../../errors.js";
import { sleep } from "../../internal/sleep.js";
import { Abort, type SignalLike } from "../../platform/abort.js";
import { Attempt } from "../acquire/grant.js";
import { freeAll } from "../hold/close.js";
import type { Deadline } from "../hold/deadline.js";
import { tellGrant } from "../events.js";
import type { Holders, RecordRef } from "../record/format.js";
import { Hold } from "../hold/hold.js";
import { moveTo, renewNow } from "../hold/writes.js";
import type { Kept } from "../scheduler.js";
import type { Kernel } from "../context.js";
import { Lease } from "../hold/lease.js";
import type { Life, LifeSource } from "../hold/keep-alive.js";
import type { AcquireSettings } from "../options.js";
import { freeOnce } from "../hold/release.js";
import type { HeldRecord } from "../record/record.js";
import { Stop } from "../acquire/cancellation.js";

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
export class SessionLife implements Life, LifeSource, Kept {
  readonly #kernel: Kernel;
  readonly #hold: Hold;
  readonly #lease: Lease;
  /** All leases that were begun to live by it, or adopted, whether or not they have moved. */
  readonly #leases = new Set<Hold>();
  // Any number of sweeps and acquisitions listen, at which an AbortSignal would warn of a leak.
  readonly #over = new Abort();
  #closed: Promise<void> | undefined;

  private constructor(kernel: Kernel, hold: Hold) {
    this.#kernel = kernel;
    this.#hold = hold;
    this.#lease = Lease.on(hold);
    hold.lossSignal.signal.addEventListener("abort", () => this.#endLeases());
    kernel.keeper.visit(this, kernel.nowMs() + KEEP_EVERY_MS);
  }

  /** Makes the session's record, and renews it once: two writes. */
  static open(kernel: Kernel, settings: AcquireSettings): Promise<SessionLife> {
    let life: SessionLife | undefined;
    const onRenewal = (record: HeldRecord | undefined): void => {
      if (life !== undefined) life.#tell(record?.asked);
    };
    const opened = open(kernel, { ...settings, onRenewal }).then((hold) => {
      life = new SessionLife(kernel, hold);
      return life;
    });
    return kernel.tracked(opened);
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
    this.#closed ??= this.#kernel.tracked(this.#closeOnce(leases));
    return this.#closed;
  }

  current(): Life | undefined {
    return this.isHeld ? this : undefined;
  }

  accepts(kernel: Kernel, leaseMs: number, renewMs: number | "manual"): boolean {
    if (kernel !== this.#kernel) throw refuse("The option `session` is of another client.");
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
    const kernel = this.#kernel;
    kernel.inBackground(async () => {
      if (afterMs > 0) await sleep(kernel.timers, afterMs, false, this.#over);
      const untilMs = kernel.nowMs() + SWEEP_LEASES * this.leaseMs;
      let pauseMs = SHORTEST_SWEEP_PAUSE_MS;
      while (this.isHeld) {
        const answer = await freeOnce(kernel, ref, from, keepData);
        if (answer.kind === "applied" || answer.kind === "refused") return;
        if (kernel.nowMs() > untilMs) this.#endForGood();
        await sleep(kernel.timers, kernel.jittered(pauseMs), false, this.#over);
        pauseMs = Math.min(2 * pauseMs, LONGEST_SWEEP_PAUSE_MS);
      }
    });
  }

  /** Called by the keeper: keeps the TTL of records that are never renewed ahead of them. */
  tend(): number {
    this.#kernel.inBackground(() => this.#keepFromExpiring());
    return this.#kernel.nowMs() + KEEP_EVERY_MS;
  }

  async #keepFromExpiring(): Promise<void> {
    const { format } = this.#kernel;
    for (const hold of [...this.#leases]) {
      await hold.requests.run(async () => {
        if (!hold.living.isMoved) return;
        const options = { leaseMs: this.leaseMs, wallMs: this.#kernel.wallMs() };
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
      if (asked.includes(hold.held.holder)) this.#kernel.inBackground(() => hold.look());
    }
  }

  #endLeases(): void {
    this.#finish();
    const isClosed = this.#hold.loss?.reason === "closed";
    for (const hold of [...this.#leases]) {
      if (hold.living.life === this) hold.end(isClosed ? "closed" : "session ended");
    }
  }

  #endForGood(): void {
    this.close("end").catch((error: HoldfastError) => this.#kernel.report(error));
  }

  async #closeOnce(leases: "release" | "end"): Promise<void> {
    this.#finish();
    const holds = [...this.#leases];
    for (const hold of holds) hold.end("closed");
    if (leases === "release") await freeAll(this.#kernel, holds);
    await this.#lease.release();
  }

  #finish(): void {
    this.#kernel.keeper.forget(this);
    this.#over.abort();
  }
}

const refuse = (message: string): HoldfastError => new HoldfastError("invalid-argument", message);

async function open(kernel: Kernel, settings: AcquireSettings): Promise<Hold> {
  // Each try under a new id: an old one may have been made, and be neutralised, at any later time.
  const fromMs = kernel.nowMs();
  const refOf = (): RecordRef => kernel.format.refOf("session", kernel.random.id());
  let ref = refOf();
  // One for all tries: each of its own would be given the whole wait anew.
  const stop = new Stop(kernel, [ref], settings);
  try {
    for (; ; ref = refOf()) {
      if (stop.isStopped) throw stop.error();
      const claim = { kind: "claim", onto: { kind: "absent" } } as const;
      const begun = await new Attempt(kernel, ref, settings, stop, claim).run();
      if (typeof begun === "object") {
        const line = kernel.lines.of(ref.id);
        line.tryTurn();
        const hold = new Hold(kernel, ref, line, begun);
        tellGrant(hold, "claim", kernel.nowMs() - fromMs);
        await firstRenewal(hold, stop);
        return hold;
      }
      // Without a wait there is one try, as at an acquisition.
      if (settings.waitMs === 0) throw stop.error();
    }
  } catch (cause) {
    throw notOpened(cause);
  } finally {
    stop.dispose();
  }
}

// A renewal that is not answered before the wait is over ends the session, which no record names yet.
async function firstRenewal(hold: Hold, stop: Stop): Promise<void> {
  let end = (): void => undefined;
  const stopped = new Promise<never>((_, reject) => {
    end = () => {
      // Where DynamoDB does not answer that either, the row dies with its lease.
      hold.kernel.inBackground(() =>
        Lease.on(hold)
          .release()
          .catch(() => undefined),
      );
      reject(stop.error());
    };
  });
  stop.signal.addEventListener("abort", end);
  if (stop.isStopped) end();
  try {
    await Promise.race([renewNow(hold), stopped]);
  } finally {
    stop.signal.removeEventListener("abort", end);
  }
}

function notOpened(cause: unknown): unknown {
  if (!isHoldfastError(cause)) return cause;
  const { code, reason } = cause;
  return new HoldfastError(code, `The session was not opened: ${cause.message}`, { cause, reason });
}
