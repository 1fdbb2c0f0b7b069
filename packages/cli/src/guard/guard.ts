/**
 * The guard of one command: a separate process, in its own process session (setsid), between the holding process
 * and the command. The guard ends the command's process group before the lease's deadline, even if the holding
 * process is stopped, killed or stuck.
 *
 * The guard cannot act while the whole machine stands still, survive its own SIGKILL (the holding process then
 * kills the group), or reach a process that left the group by setsid().
 *
 * The guard has few imports, because the command waits for the guard to start.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { systemTimers, type Timer } from "holdfast/internal";
import { monotonicMs, msUntil, type SharedInstant } from "../commands/clocks.js";
import type { EndCause, FromGuard, StartMessage, ToGuard } from "./guard-messages.js";
import { isGroupGone, signalGroup } from "./process-group.js";

// `pkill -9 -f holdfast` must not hit the guard together with the process that it watches.
process.title = "lease-guard";

// The longest interval between checks of the clocks, because a suspend moves some clocks in a leap.
const LONGEST_TICK_MS = 250;
// How often to check whether a signalled group is gone.
const SHORT_TICK_MS = 10;
// A process that still exists this long after SIGKILL is stuck in the kernel.
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

  constructor(start: StartMessage, child: ChildProcess) {
    this.#start = start;
    this.#deadline = start.deadline;
    this.#child = child;
    this.#groupId = this.#child.pid;
    if (this.#groupId !== undefined) send({ kind: "started", groupId: this.#groupId });
    this.#child.once("error", (error: NodeJS.ErrnoException) => {
      if (this.#groupId !== undefined) return;
      this.#isOver = true;
      sendNotStarted(error);
    });
    this.#child.once("exit", (code, signal) => {
      this.#exit = { code, signal };
      this.#tick();
    });
    this.#tick();
  }

  /** Whether the command and its group have ended. */
  get isOver(): boolean {
    return this.#isOver;
  }

  moveDeadline(deadline: SharedInstant): void {
    this.#deadline = deadline;
    this.#tick();
  }

  /** Passes a signal on to the command's group. */
  forwardSignal(signal: NodeJS.Signals): void {
    // Once the command has exited, the guard already ends the rest of the group.
    if (this.#exit === undefined) this.#signal(signal);
  }

  /**
   * Ends the group: `at once` by SIGKILL, `gently` by SIGTERM, with as much time to clean up as the deadline allows.
   */
  end(cause: EndCause, how: "gently" | "at once"): void {
    if (this.#exit === undefined) this.#cause ??= cause;
    const atMs = monotonicMs();
    if (how === "at once") {
      this.#killedAtMs ??= atMs;
      // Each later tick sends SIGKILL again, and so kills processes that the group has forked meanwhile.
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

  /** Checks the clocks and the group, and takes the next due step. */
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
    const killAfterMs = this.#cause === "interrupted" ? this.#start.killAfterMs : undefined;
    const killInMs = (killAfterMs ?? graceMs) - sinceTermMs;
    if (leftMs <= 0 || killInMs <= 0 || this.#killedAtMs !== undefined) {
      this.end("deadline", "at once");
      if (monotonicMs() - (this.#killedAtMs ?? 0) > UNDEAD_MS) this.#finish(false);
    } else if (leftMs <= graceMs || this.#exit !== undefined) {
      this.end("deadline", "gently");
    } else {
      this.#schedule(Math.min(leftMs - graceMs, killInMs));
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
    // Without the holding process there is no reply to wait for.
    if (!process.connected) process.exit(0);
  }
}

function send(message: FromGuard): void {
  // If the parent dies while a message is in flight, "disconnect" reports the death.
  if (process.connected) process.send?.(message, undefined, undefined, () => undefined);
}

function sendNotStarted({ code, message }: NodeJS.ErrnoException): void {
  send({ kind: "not started", code: code ?? message });
}

let guard: Guard | undefined;

function begin(start: StartMessage): void {
  if (guard !== undefined) return;
  // If the lease expired while this process was starting, the command never runs.
  if (msUntil(start.deadline) > start.graceMs + start.marginMs) guard = started(start);
  else send({ kind: "ended", exitCode: null, signal: null, cause: "deadline", isGroupGone: true });
}

function started(start: StartMessage): Guard | undefined {
  const { command, args, env } = start;
  let child: ChildProcess;
  try {
    // `detached` calls setsid(): a separate group that the terminal's signals do not reach.
    child = spawn(command, args, { env, stdio: "inherit", detached: true });
  } catch (error) {
    // Node.js reports ENOENT and a few others by an event, and throws all others, such as ENOTDIR and E2BIG.
    sendNotStarted(error as NodeJS.ErrnoException);
    return undefined;
  }
  return new Guard(start, child);
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
      guard?.forwardSignal(message.signal);
      break;
    case "interrupt":
      guard?.end("interrupted", "gently");
      break;
    case "stop":
      // Another client may already hold the lock: there is no time to clean up.
      guard?.end("stopped", "at once");
  }
});

// The holding process has died or has finished.
process.on("disconnect", () => {
  if (guard === undefined || guard.isOver) process.exit(0);
  guard.end("orphaned", "gently");
});

// The holding process receives these signals and passes them on. The guard ignores these signals, because it must run
// until the group has ended.
for (const signal of ["SIGINT", "SIGTERM", "SIGHUP", "SIGQUIT", "SIGUSR1", "SIGUSR2"] as const) {
  process.on(signal, () => undefined);
}

process.on("uncaughtException", () => {
  // A guard with an internal error must not leave the command without a guard.
  guard?.end("stopped", "at once");
  process.exit(1);
});
