import type { SharedInstant } from "../commands/clocks.js";

/** The guard's parameters. */
export interface StartMessage {
  readonly kind: "start";
  readonly command: string;
  readonly args: readonly string[];
  readonly env: NodeJS.ProcessEnv;
  readonly deadline: SharedInstant;
  /** For how long the group may tidy up between SIGTERM and SIGKILL. */
  readonly graceMs: number;
  /** How long before the deadline the group must be dead: the time for SIGKILL to take effect. */
  readonly marginMs: number;
  /** The same as `graceMs`, for an interrupted holder. Default: `graceMs`. */
  readonly killAfterMs?: number;
}

/** A message from the holding process to the guard. */
export type ToGuard =
  | StartMessage
  /** The lease was renewed. */
  | { readonly kind: "deadline"; readonly deadline: SharedInstant }
  /** A signal to pass on to the group. */
  | { readonly kind: "signal"; readonly signal: NodeJS.Signals }
  /** Another client tells the holder to stop: end the group, gently. */
  | { readonly kind: "interrupt" }
  /** The lease is lost: kill, now. */
  | { readonly kind: "stop" };

/** Why the guard ended a running command. */
export type EndCause = "deadline" | "stopped" | "orphaned" | "interrupted";

/** How a command ended. */
export interface EndedMessage {
  readonly kind: "ended";
  readonly exitCode: number | null;
  readonly signal: NodeJS.Signals | null;
  /** Undefined if the command ended by itself, or by a signal that the guard passed on. */
  readonly cause?: EndCause;
  /** Whether no process of the group is left. */
  readonly isGroupGone: boolean;
}

/** A message from the guard to the holding process. */
export type FromGuard =
  | { readonly kind: "started"; readonly groupId: number }
  /** The command could not start; `code` is the system's, such as ENOENT. */
  | { readonly kind: "not started"; readonly code: string }
  | EndedMessage;
