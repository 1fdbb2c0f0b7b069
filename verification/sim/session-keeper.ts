import { isHoldfastError, openSession, type Session } from "../../packages/holdfast/src/index.js";
import { inMs } from "../../packages/holdfast/src/internal/duration.js";
import type { SeededRandom } from "../../packages/testing/src/time/seeded-random.js";
import type { Incarnation } from "./incarnation.js";
import { settlesInTime } from "./settles-in-time.js";

/** The longest life of a session, in leases, unless leases on the session delay its close. */
const MOST_LEASES = 30;

/**
 * How a process holds: by renewals of each lease, by the client's own session, or by sessions opened by hand.
 */
export type HoldsBy = "each" | "shared" | "session";

/**
 * Opens sessions for the workers of one process, in sequence, and closes each in one of the two ways, until the run
 * is over. The last session stays open, and these remains are checked first.
 */
export class SessionKeeper {
  /** The session for new leases; undefined if there is none. */
  current: Session | undefined;
  readonly #self: Incarnation;
  readonly #random: SeededRandom;

  constructor(self: Incarnation, random: SeededRandom) {
    this.#self = self;
    this.#random = random;
  }

  async work(): Promise<void> {
    const { run } = this.#self;
    while (!run.isOver) {
      await this.#self.restWhileQuiet();
      const session = await this.#open();
      if (session === undefined) await this.#self.sleep(run.plan.behaviour.longestRestMs);
      else if (await this.#hasHadItsTime(session)) {
        await this.#close(session).catch((error: unknown) => {
          // Without an answer, the session ends when the lease expires.
          if (!isHoldfastError(error)) throw error;
        });
      }
    }
  }

  /** Closes the last session; rejects without an answer. */
  async end(): Promise<void> {
    if (this.current !== undefined) await this.#close(this.current);
  }

  async #open(): Promise<Session | undefined> {
    const { run } = this.#self;
    this.#self.asked();
    try {
      const lease = this.#random.integer(...run.plan.leaseMs);
      const session = await this.#opened(lease);
      this.current = session;
      session.signal.addEventListener("abort", () => this.#over(session, "lost"));
      return session;
    } catch (error) {
      if (!isHoldfastError(error)) throw error;
      return undefined;
    }
  }

  #opened(lease: number): Promise<Session> {
    const { run, locks } = this.#self;
    const isImpatient = run.plan.world !== undefined && this.#random.chance(0.3);
    if (!isImpatient) return openSession(locks, { lease: inMs(lease), wait: "1h" });
    const wait = this.#random.integer(0, 3 * lease);
    return settlesInTime(
      this.#self,
      wait,
      "tried to open a session",
      openSession(locks, { lease: inMs(lease), wait: inMs(wait) }),
    );
  }

  /** Resolves to true when the session is due to be closed, or is lost; to false if the run ends before. */
  async #hasHadItsTime(session: Session): Promise<boolean> {
    const { run } = this.#self;
    const untilMs = run.time.nowMs + MOST_LEASES * session.leaseMs * this.#random.fraction();
    const isClosedInUse = this.#random.chance(run.plan.behaviour.closesInUse);
    while (!run.isOver) {
      await this.#self.sleep(session.leaseMs / 4);
      if (!session.isHeld) return true;
      const isTime = run.time.nowMs >= untilMs || run.isQuiet;
      if (isTime && (isClosedInUse || session.size === 0)) return !run.isOver;
    }
    return false;
  }

  async #close(session: Session): Promise<void> {
    for (let lease = 0; lease <= session.size; lease += 1) this.#self.asked();
    this.current = undefined;
    if (session.isHeld) this.#over(session, "closed");
    const leases = this.#random.chance(0.5) ? "end" : "release";
    await session.close({ leases });
  }

  #over(session: Session, why: "lost" | "closed"): void {
    this.#self.note({ kind: "session over", session: session.id, why });
  }
}
