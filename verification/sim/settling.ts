import { type Holdfast, type HoldfastError, mutex } from "../../packages/holdfast/src/index.js";
import type { VirtualTime } from "../../packages/testing/src/time/virtual-time.js";
import type { Event } from "./history.js";

/** A process which starts after all earlier processes have ended. */
export interface Newcomer {
  readonly locks: Holdfast;
  note(event: NewcomerEvent): void;
}

type NewcomerEvent = Event extends infer E ? (E extends Event ? Omit<E, "by"> : never) : never;

/** A process, and what it may leave behind. */
export interface Leaver {
  readonly name: string;
  readonly process: { pendingTimers(): number };
}

type Fail = (invariant: string, what: string) => void;

const LONGEST_CLOSE_MS = 30_000;

/** Checks a run after the faults end: progress, no orphan, no leak. */
export class Settling {
  readonly #time: VirtualTime;
  readonly #fail: Fail;

  constructor(time: VirtualTime, fail: Fail) {
    this.#time = time;
    this.#fail = fail;
  }

  /** Expects all tasks to end within the limit. */
  async expectEnd(who: string, tasks: readonly Promise<unknown>[], limitMs: number): Promise<void> {
    await this.expect("progress", `${who} never ended`, Promise.all(tasks), limitMs);
  }

  async expectClosed(closings: readonly Promise<unknown>[]): Promise<void> {
    await this.expect("progress", "a client never closed", Promise.all(closings), LONGEST_CLOSE_MS);
  }

  /** Expects every name to be free for a newcomer after at most a lease. */
  async expectFree(newcomer: Newcomer, names: readonly string[], limitMs: number): Promise<void> {
    for (const name of names) {
      newcomer.note({ kind: "waits", name });
      const run = mutex(newcomer.locks, name).run({ wait: "1h" }, ({ fence }) => {
        newcomer.note({ kind: "granted", name, fence, waited: true });
        newcomer.note({ kind: "released", name, fence });
      });
      await this.expect("no orphan", `"${name}" could not be acquired`, run, limitMs);
    }
    await this.expectClosed([newcomer.locks.close()]);
  }

  /** Expects no timer of a closed client, and no error without a caller. */
  expectNothingLeft(
    leavers: Iterable<Leaver>,
    reported: readonly Error[],
    { hasFaults }: { readonly hasFaults: boolean },
  ): void {
    for (const { name, process } of leavers) {
      if (process.pendingTimers() > 0) this.#fail("no leak", `${name} has timers left`);
    }
    for (const error of reported) {
      if (!isExpected(error, hasFaults)) this.#fail("no leak", `${error}`);
    }
  }

  /** Expects the promise to settle within the limit, and not to reject. */
  async expect(
    invariant: string,
    what: string,
    promise: Promise<unknown>,
    limitMs: number,
  ): Promise<void> {
    try {
      await this.#time.runUntil(promise, { limitMs });
    } catch (error) {
      this.#fail(invariant, `${what}: ${String(error)}`);
    }
  }
}

// A background write without an answer, or a release that is refused its credentials to the end; once for each client, the
// notice of a table that answers nothing for a while; and that of a candidate whose grants are answered too late.
function isExpected(error: Error, hasFaults: boolean): boolean {
  const { code, lockName } = error as Partial<HoldfastError>;
  const notices: readonly unknown[] = ["unreachable", "throttled", "access-denied"];
  const isRefusal = code === "access-denied" && error.message.includes("the release of ");
  const isNotice = notices.includes(code) && (lockName === undefined || isRefusal);
  const isTooSlow =
    code === "unreachable" && error.message.includes("answers take longer than a lease");
  return code === "outcome-unknown" || (hasFaults && (isNotice || isTooSlow));
}
