import type { ChildProcess } from "node:child_process";
import { isHoldfastError, sleep, systemTimers, type Timer } from "holdfast/internal";
import { deadlineIn } from "../commands/clocks.js";
import type { Host } from "../host.js";
import type { EndedMessage, FromGuard, ToGuard } from "./guard-messages.js";
import { isGroupGone, signalGroup } from "./process-group.js";

/** The part of a lease that the guard needs. */
export interface GuardingLease {
  readonly leaseMs: number;
  /** Aborts when the lease is lost. */
  readonly signal: AbortSignal;
  /** Aborts also when another client interrupts the holder. Undefined if no client can. */
  readonly stopSignal?: AbortSignal | undefined;
  remainingMs(): number;
}

/** A command to run under a lease. */
export interface CommandLine {
  readonly command: string;
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  /** How long an interrupted command may tidy up before SIGKILL. Default: the grace period. */
  readonly killAfterMs?: number;
}

/** The outcome of a guarded command. */
export type Outcome =
  | EndedMessage
  | { readonly kind: "not started"; readonly code: string }
  /** The guard died; the group was killed by this process. */
  | { readonly kind: "unguarded"; readonly isGroupGone: boolean };

// The time to clean up before SIGKILL: a fraction of the lease, so that a short lease keeps most of its length
// for the work.
const GRACE_PART = 1 / 10;
const LONGEST_GRACE_MS = 2_000;
// The margin between SIGKILL and the deadline: the time that a busy machine takes to schedule the guard and to
// deliver the signal.
const MARGIN_PART = 1 / 20;
const LONGEST_MARGIN_MS = 250;
/** The part of a lease that a guard needs at the most: with less left, it starts nothing. */
export const GUARD_PART = GRACE_PART + MARGIN_PART;
// How often the guard receives the deadline: often enough to learn of a renewal long before the grace period
// starts.
const TELLS_PER_LEASE = 12;
const SHORTEST_TELL_MS = 20;
const LONGEST_TELL_MS = 1_000;
// How long to wait for a killed group to vanish, and how often to check.
const GONE_WITHIN_MS = 5_000;
const LOOK_MS = 10;
// The guard gives a killed group 5 s to vanish; a guard that stays silent for longer is stuck.
const STUCK_MS = 10_000;

/**
 * Runs a command in a separate process group, under a guard that ends the group before the lease's deadline.
 * This class is the holding process's side: it sends the deadline to the guard, and kills the group if the
 * guard dies.
 */
export class GuardedCommand {
  readonly outcome: Promise<Outcome>;
  readonly #lease: GuardingLease;
  readonly #guard: ChildProcess;
  #groupId: number | undefined;
  #teller: Timer | undefined;
  #guardIsStuck: Timer | undefined;
  #isKilledHere = false;

  constructor(lease: GuardingLease, line: CommandLine, host: Pick<Host, "env" | "startGuard">) {
    this.#lease = lease;
    // Variables for Node.js are meant for the command alone.
    const { NODE_OPTIONS: _, ...env } = host.env;
    this.#guard = host.startGuard(env);
    this.outcome = this.#run(line);
  }

  /** Passes a signal on to the command's group. */
  forwardSignal(signal: NodeJS.Signals): void {
    this.#tell({ kind: "signal", signal });
  }

  async #run(line: CommandLine): Promise<Outcome> {
    const ended = this.#ended();
    const deadline = deadlineIn(() => this.#lease.remainingMs());
    const graceMs = Math.min(LONGEST_GRACE_MS, this.#lease.leaseMs * GRACE_PART);
    const marginMs = Math.min(LONGEST_MARGIN_MS, this.#lease.leaseMs * MARGIN_PART);
    // The start message includes the first deadline, so the command never runs without a deadline.
    this.#tell({ kind: "start", ...line, deadline, graceMs, marginMs });
    const { signal, stopSignal } = this.#lease;
    const stop = (): void => this.#stop();
    const interrupt = (): void => {
      if (isHoldfastError(stopSignal?.reason, "interrupted")) this.#tell({ kind: "interrupt" });
    };
    signal.addEventListener("abort", stop, { once: true });
    stopSignal?.addEventListener("abort", interrupt, { once: true });
    // An abort before the listener was added does not call the listener.
    if (signal.aborted) stop();
    interrupt();
    this.#keepTelling();
    try {
      return this.#withCause(await ended);
    } finally {
      this.#teller?.cancel();
      this.#guardIsStuck?.cancel();
      signal.removeEventListener("abort", stop);
      stopSignal?.removeEventListener("abort", interrupt);
      if (this.#guard.connected) this.#guard.disconnect();
    }
  }

  /** The lease is lost. The guard kills the group, and so does this process: either may be stuck. */
  #stop(): void {
    this.#tell({ kind: "stop" });
    if (this.#groupId !== undefined) this.#isKilledHere = signalGroup(this.#groupId, "SIGKILL");
    // A stopped guard sends nothing, but its death is reported.
    this.#guardIsStuck = systemTimers.set(STUCK_MS, true, () => this.#guard.kill("SIGKILL"));
  }

  // If this process acted first, the guard only saw a command that died of a signal.
  #withCause(outcome: Outcome): Outcome {
    const isUnexplained = outcome.kind === "ended" && outcome.cause === undefined;
    return isUnexplained && this.#isKilledHere && outcome.signal === "SIGKILL"
      ? { ...outcome, cause: "stopped" }
      : outcome;
  }

  #keepTelling(): void {
    const everyMs = Math.min(
      LONGEST_TELL_MS,
      Math.max(SHORTEST_TELL_MS, this.#lease.leaseMs / TELLS_PER_LEASE),
    );
    this.#teller = systemTimers.set(everyMs, true, () => {
      const deadline = deadlineIn(() => this.#lease.remainingMs());
      this.#tell({ kind: "deadline", deadline });
      this.#keepTelling();
    });
  }

  #ended(): Promise<Outcome> {
    return new Promise((resolve) => {
      const died = (): void => void this.#withoutGuard().then(resolve);
      this.#guard.on("message", (message: FromGuard) => {
        if (message.kind === "started") {
          this.#groupId = message.groupId;
          return;
        }
        // The operating system may soon reuse the id of an ended group.
        this.#groupId = undefined;
        this.#guard.off("disconnect", died);
        resolve(message);
      });
      // Not "exit", which may come before the last message has been read.
      this.#guard.once("disconnect", died);
      this.#guard.once("error", died);
    });
  }

  /** Kills the group here and at once, because without the guard no process checks the deadline. */
  async #withoutGuard(): Promise<Outcome> {
    const groupId = this.#groupId;
    // A guard that could not start has started nothing. If it died before it reported a group, there may be a running
    // group, so the lock is not released.
    if (groupId === undefined)
      return { kind: "unguarded", isGroupGone: this.#guard.pid === undefined };
    for (let waitedMs = 0; waitedMs < GONE_WITHIN_MS; waitedMs += LOOK_MS) {
      signalGroup(groupId, "SIGKILL");
      if (isGroupGone(groupId)) return { kind: "unguarded", isGroupGone: true };
      await sleep(systemTimers, LOOK_MS, true);
    }
    return { kind: "unguarded", isGroupGone: false };
  }

  #tell(message: ToGuard): void {
    // A message to a dead guard is lost; "disconnect" reports the death.
    if (this.#guard.connected) this.#guard.send(message, () => undefined);
  }
}
