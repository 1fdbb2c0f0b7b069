import type { ErrorCode } from "../errors.js";

/** One result of the diagnosis. */
export interface Finding {
  readonly check:
    | "table"
    | "key"
    | "ttl"
    | "replication"
    | "permission"
    | "latency"
    | "clock"
    | "connections"
    | "date"
    | "ring";
  /** `problem`: a feature will fail. `warning`: the feature works with a restriction. */
  readonly level: "ok" | "warning" | "problem";
  readonly message: string;
  /** How to fix the finding; undefined if no action is needed, or if the message has it. */
  readonly fix: string | undefined;
  /** For a problem: the code of the error that clients will get. Otherwise undefined. */
  readonly code: ErrorCode | undefined;
  /** How long a probe took, in milliseconds. */
  readonly latencyMs: number | undefined;
}

/** Returns a finding without a problem. */
export const ok = (check: Finding["check"], message: string, latencyMs?: number): Finding => ({
  check,
  level: "ok",
  message,
  fix: undefined,
  code: undefined,
  latencyMs,
});
