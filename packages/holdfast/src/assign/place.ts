import type { AcquireContext } from "../core/acquire/context.js";
import { doubling } from "../core/backoff.js";
import { renewOrMove } from "../core/hold/keep-alive.js";
import type { HeldLease, Lease } from "../core/hold/lease.js";
import { HoldfastError, isHoldfastError } from "../errors.js";
import { causeText } from "../internal/cause-text.js";
import { settlesWithin } from "../internal/settles-within.js";
import { sleep } from "../internal/sleep.js";
import { Abort, onAbort, untilAbort } from "../platform/abort.js";
import type { AssignmentChange, ChangeMonitor } from "./events.js";
import type { AssignSettings } from "./options.js";

/** What a place needs of its assignment. */
export interface Running {
  readonly context: AcquireContext;
  readonly group: string;
  readonly settings: AssignSettings;
  readonly monitor: ChangeMonitor;
  /** Another member asks for the name. */
  onWanted(place: Place): void;
}

/** How many asks of a member another one need not have heard yet. All are in one item, and each makes the next one dearer. */
export const ASKS_AT_ONCE = 64;
const FIRST_PAUSE_MS = 1_000;
const LONGEST_PAUSE_MS = 300_000;

/** How long a member waits for a name that it has asked for, in milliseconds. */
export function askMs({ periodMs, stopTimeoutMs }: AssignSettings): number {
  return 2 * periodMs + stopTimeoutMs;
}

/** One name at this member: from the grant of its lock until its run has ended. */
export class Place {
  readonly name: string;
  readonly lease: HeldLease;
  readonly #of: Running;
  /** Aborts when the run must end. */
  readonly #ending = new Abort();
  #why: AssignmentChange["kind"] | undefined;
  #wanted: { readonly by: string | undefined; readonly atMs: number } | undefined;
  #hasRun = false;
  /** Resolves after the release, or the end of the lease: the name may run elsewhere. Never rejects. */
  readonly released: Promise<void>;
  /** Resolves when the run has ended, too: this process may run the name again. Never rejects. */
  readonly ended: Promise<void>;

  constructor(of: Running, name: string, lease: HeldLease) {
    this.#of = of;
    this.name = name;
    this.lease = lease;
    of.monitor.tell("assigned", name, lease.fence);
    // The session keeps the lock from now on: its first renewal would move it a third of a lease later, for the same write.
    of.context.inBackground(() => renewOrMove(lease.hold));
    const end = (): void => this.#ending.abort();
    onAbort(lease.signal, end);
    // A run may release its lease itself, which aborts no signal.
    lease.released.add(end);
    const { requested } = lease.hold;
    requested.onWanted(({ kind, by }) => {
      if (kind !== "announced") return;
      this.#wanted = { by, atMs: of.context.nowMs() };
      // Each member that asks is to be heard, not the first one alone.
      requested.forget();
      of.onWanted(this);
    });
    const running = this.#runs().then(() => {
      this.#hasRun = true;
    });
    this.released = this.#release(running);
    this.ended = this.released.then(() => running);
  }

  /** Whether a member with this label waits for the name; without a label, whether any does. */
  isWanted(by?: string): boolean {
    if (this.#wanted === undefined || (by !== undefined && by !== this.#wanted.by)) return false;
    const { context, settings } = this.#of;
    return context.nowMs() - this.#wanted.atMs < askMs(settings);
  }

  /** Whether the name runs here, and is to run on. */
  get isKept(): boolean {
    return !this.#ending.aborted && this.lease.isHeld;
  }

  /** Whether the run goes on, and the name is not given up yet. */
  get isRunning(): boolean {
    return !this.#hasRun && this.lease.isHeld;
  }

  /** Stops the run, and then gives the name up. The run may shield a section from that. */
  revoke(why: "moved" | "revoked"): void {
    if (this.#why !== undefined || this.#ending.aborted) return;
    this.#why = why;
    this.lease.hold.requested.tell({ kind: "interrupt", by: this.#of.settings.owner });
  }

  /** Calls the run again and again until it must end. Resolves when no call is going on. Never rejects. */
  async #runs(): Promise<void> {
    const { context, settings, monitor } = this.#of;
    let backoff = doubling(FIRST_PAUSE_MS, LONGEST_PAUSE_MS);
    // The assignment has the place before the run can ask for it.
    await undefined;
    // After a pause of the process, the timer of the sleep may fire before anything reads the clocks.
    while (this.isKept) {
      const fromMs = context.nowMs();
      const failure = await this.#runOnce();
      // A signal that aborts while the run ends is read here, before any timer could tell.
      if (!this.lease.isHeld || this.#ending.aborted) return;
      let pauseMs = settings.periodMs;
      if (failure === undefined) backoff = doubling(FIRST_PAUSE_MS, LONGEST_PAUSE_MS);
      else {
        if (context.nowMs() - fromMs > LONGEST_PAUSE_MS) {
          backoff = doubling(FIRST_PAUSE_MS, LONGEST_PAUSE_MS);
        }
        pauseMs = backoff(context.random.fraction());
        monitor.tell("idle", this.name, this.lease.fence, failure.error);
        this.#report(
          `threw${causeText(failure.error)}, and runs again in ${Math.round(pauseMs)} ms`,
          failure.error,
        );
      }
      await sleep(context.timers, pauseMs, true, this.#ending);
    }
  }

  async #runOnce(): Promise<{ readonly error: unknown } | undefined> {
    const { signal } = this.lease;
    try {
      await this.#of.settings.run(this.name, this.lease as HeldLease as unknown as Lease);
      return undefined;
    } catch (error) {
      // After an abort, the error is mostly the reason, or the one of a request that the signal has cut off.
      const isConsequence =
        error === signal.reason || (error instanceof Error && error.name === "AbortError");
      if (signal.aborted && !isConsequence)
        this.#report(`threw${causeText(error)} while it stopped`, error);
      return { error };
    }
  }

  async #release(running: Promise<void>): Promise<void> {
    const { context, settings, monitor } = this.#of;
    await untilAbort(this.#ending);
    const { stopTimeoutMs } = settings;
    if (!(await settlesWithin(context.timers, stopTimeoutMs, running))) {
      this.#report(
        `has not ended ${stopTimeoutMs} ms after its signal aborted. The name is given up, so that another member may run it beside this run; this process runs it again only when this run has ended`,
        undefined,
      );
    }
    const { reason } = this.lease.signal;
    await this.lease[Symbol.asyncDispose]();
    const kind = isHoldfastError(reason, "lost") ? "lost" : (this.#why ?? "revoked");
    const isOwn = kind === this.#why;
    monitor.tell(kind, this.name, this.lease.fence, isOwn ? undefined : reason);
  }

  #report(what: string, cause: unknown): void {
    const { context, group } = this.#of;
    context.report(
      new HoldfastError(
        "outcome-unknown",
        `The run of "${this.name}" in assignment "${group}" ${what}.`,
        { lockName: this.lease.name, cause },
      ),
    );
  }
}
