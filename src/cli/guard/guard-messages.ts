import type { SharedInstant } from "../commands/clocks.js";

/** What the guard needs to begin. */
export interface StartMessage {
  readonly kind: "start";
  readonly command: string;
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  readonly deadline: SharedInstant;
  /** For how long the group may tidy up between SIGTERM and SIGKILL. */
  readonly graceMs: number;
  /** How long before the deadline the group is dead: what it takes to kill. */
  readonly marginMs: number;
}

/** From the process that keeps the lease to the guard. */
export type ToGuard =
  | StartMessage
  /** The lease was renewed. */
  | { readonly kind: "deadline"; readonly deadline: SharedInstant }
  /** A signal to pass on to the group. */
  | { readonly kind: "signal"; readonly signal: NodeJS.Signals }
  /** The lease is lost: kill, now. */
  | { readonly kind: "stop" };

/** Why the guard ended a command that had not ended by itself. */
export type EndCause = "deadline" | "stopped" | "orphaned";

/** How a command ended. */
export interface EndedMessage {
  readonly kind: "ended";
  readonly exitCode: number | null;
  readonly signal: NodeJS.Signals | null;
  /** Undefined where it ended by itself, or by a signal that was passed on. */
  readonly cause?: EndCause;
  /** Whether nothing of its group is left. */
  readonly isGroupGone: boolean;
}

/** From the guard to the process that keeps the lease. */
export type FromGuard =
  | { readonly kind: "started"; readonly groupId: number }
  /** It could not be started; `code` is the system's, such as ENOENT. */
  | { readonly kind: "not started"; readonly code: string }
  | EndedMessage;
