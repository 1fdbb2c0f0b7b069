/**
 * The guard of one command: a process of its own, in a session of its own, between the process that
 * keeps the lease and the command. It ends the command's process group before the lease's deadline,
 * and needs neither the life nor the event loop of the one that keeps the lease: that may be stopped,
 * killed or stuck.
 *
 * What it cannot do: act while the whole machine stands still, outlive its own SIGKILL (the process
 * that keeps the lease then kills the group), or reach a process that left the group by setsid().
 *
 * It imports as little as it can, because the command waits for it to start.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { systemTimers, type Timer } from "../../platform/timers.js";
import { monotonicMs, msUntil, type SharedInstant } from "../commands/clocks.js";
import type { EndCause, FromGuard, StartMessage, ToGuard } from "./guard-messages.js";
import { isGroupGone, signalGroup } from "./process-group.js";

// The clocks are looked at this often, because a suspend of the machine moves some of them in a leap.
const LONGEST_TICK_MS = 250;
// How often to look whether a group that was signalled is gone.
const SHORT_TICK_MS = 10;
// A process that is still there so long after SIGKILL is stuck in the kernel.
const UNDEAD_MS = 5_000;

class Guard {
  readonly #start: StartMessage;
  readonly #child: ChildProcess;
  #deadline: SharedInstant;
  #groupId: number | undefined;
  #timer: Timer | undefined;
  #terminatedAtMs: number | undefined;
  #killedAtMs: number | undefined;
  #cause: EndCause | undefined;
  #exit: { readonly code: number | null; readonly signal: NodeJS.Signals | null } | undefined;
  #isOver = false;

  constructor(start: StartMessage) {
    this.#start = start;
    this.#deadline = start.deadline;
    // `detached` is setsid(): a group of its own, which the terminal's signals do not reach.
    this.#child = spawn(start.command, start.args, {
      env: start.env,
      stdio: "inherit",
      detached: true,
    });
    this.#groupId = this.#child.pid;
    if (this.#groupId !== undefined) send({ kind: "started", groupId: this.#groupId });
    this.#child.once("error", (error: NodeJS.ErrnoException) => {
      if (this.#groupId !== undefined) return;
      this.#isOver = true;
      send({ kind: "not started", code: error.code ?? error.message });
    });
    this.#child.once("exit", (code, signal) => {
      this.#exit = { code, signal };
      this.#tick();
    });
    this.#tick();
  }

  /** Whether there is nothing left to guard. */
  get isOver(): boolean {
    return this.#isOver;
  }

  moveDeadline(deadline: SharedInstant): void {
    this.#deadline = deadline;
    this.#tick();
  }

  giveUpLease(signal: NodeJS.Signals): void {
    // Once the command itself has ended, what is left of its group is being ended anyway.
    if (this.#exit === undefined) this.#signal(signal);
  }

  /** Ends the group: at once, or with the time to tidy up that the deadline allows. */
  end(cause: EndCause, how: "gently" | "at once"): void {
    if (this.#exit === undefined) this.#cause ??= cause;
    const atMs = monotonicMs();
    if (how === "at once") {
      this.#killedAtMs ??= atMs;
      // Repeated at every tick: it costs nothing, and misses nobody who was just being born.
      this.#signal("SIGKILL");
    } else if (this.#terminatedAtMs === undefined) {
      this.#terminatedAtMs = atMs;
      this.#signal("SIGTERM");
    }
    this.#schedule(SHORT_TICK_MS);
  }

  #signal(signal: NodeJS.Signals): void {
    if (this.#groupId !== undefined && !this.#isOver) signalGroup(this.#groupId, signal);
  }

  /** Looks at the clocks and at the group, and does what is due. */
  #tick(): void {
    const groupId = this.#groupId;
    if (groupId === undefined || this.#isOver) return;
    if (this.#exit !== undefined && isGroupGone(groupId)) {
      this.#finish(true);
      return;
    }
    const { graceMs, marginMs } = this.#start;
    const leftMs = msUntil(this.#deadline) - marginMs;
    const sinceTermMs = monotonicMs() - (this.#terminatedAtMs ?? Number.POSITIVE_INFINITY);
    if (leftMs <= 0 || sinceTermMs >= graceMs || this.#killedAtMs !== undefined) {
      this.end("deadline", "at once");
      if (monotonicMs() - (this.#killedAtMs ?? 0) > UNDEAD_MS) this.#finish(false);
    } else if (leftMs <= graceMs || this.#exit !== undefined) {
      this.end("deadline", "gently");
    } else {
      this.#schedule(leftMs - graceMs);
    }
  }

  #schedule(inMs: number): void {
    this.#timer?.cancel();
    if (this.#isOver) return;
    this.#timer = systemTimers.set(Math.min(inMs, LONGEST_TICK_MS), true, () => this.#tick());
  }

  #finish(isGone: boolean): void {
    this.#isOver = true;
    this.#timer?.cancel();
    send({
      kind: "ended",
      exitCode: this.#exit?.code ?? null,
      signal: this.#exit?.signal ?? null,
      ...(this.#cause === undefined ? {} : { cause: this.#cause }),
      isGroupGone: isGone,
    });
    // Alone, there is nobody whose answer to wait for.
    if (!process.connected) process.exit(0);
  }
}

function send(message: FromGuard): void {
  // A parent that died while the message was on its way is told of by "disconnect".
  if (process.connected) process.send?.(message, undefined, undefined, () => undefined);
}

let guard: Guard | undefined;

function begin(start: StartMessage): void {
  if (guard !== undefined) return;
  // The lease may have run out while this process was starting: then nothing is run at all.
  if (msUntil(start.deadline) > start.graceMs + start.marginMs) guard = new Guard(start);
  else send({ kind: "ended", exitCode: null, signal: null, cause: "deadline", isGroupGone: true });
}

process.on("message", (message: ToGuard) => {
  switch (message.kind) {
    case "start":
      begin(message);
      break;
    case "deadline":
      guard?.moveDeadline(message.deadline);
      break;
    case "signal":
      guard?.giveUpLease(message.signal);
      break;
    case "stop":
      // Somebody else may hold the lock already: there is no time to tidy up.
      guard?.end("stopped", "at once");
  }
});

// The process that kept the lease has died, or is done.
process.on("disconnect", () => {
  if (guard === undefined || guard.isOver) process.exit(0);
  guard.end("orphaned", "gently");
});

// Signals are for the process that keeps the lease, which passes them on; the guard outlives them.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2"] as const) {
  process.on(signal, () => undefined);
}

process.on("uncaughtException", () => {
  // A guard that no longer knows what it does must not leave the command to itself.
  guard?.end("stopped", "at once");
  process.exit(1);
});
