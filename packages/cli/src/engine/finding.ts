/** What {@link EngineFinding} is about. */
export type EngineCheck =
  | "claims"
  | "takeovers"
  | "deletes"
  | "refusals"
  | "conditions"
  | "numbers"
  | "reads"
  | "late-writes"
  | "transactions"
  | "tokens"
  | "condition-checks"
  | "multi-claims"
  | "ttl"
  | "date"
  | "cleanup";

/** The result of one check of an engine. */
export interface EngineFinding {
  readonly check: EngineCheck;
  /** `problem`: not fit to keep locks. `warning`: fit, with a restriction. */
  readonly level: "ok" | "warning" | "problem";
  /** What the engine did. */
  readonly message: string;
  /** What does not work on this engine because of the finding; undefined if everything works. */
  readonly consequence: string | undefined;
}

/** Returns a finding without a problem. */
export function passed(check: EngineCheck, message: string): EngineFinding {
  return { check, level: "ok", message, consequence: undefined };
}

/** Returns a finding that makes an engine unfit. */
export function failed(check: EngineCheck, message: string, consequence: string): EngineFinding {
  return { check, level: "problem", message, consequence };
}
