import { HoldfastError } from "../errors.js";
import type { NotNow, Unknown } from "../platform/table.js";

/** Why the last request told nothing. */
export type Trouble = Unknown | NotNow;

/** The error for whoever asked: the table does not answer, or answers that it will not for now. */
export function troubleError(
  name: string,
  whatFailed: string,
  trouble: Trouble,
  title = `Lock "${name}"`,
): HoldfastError {
  const details = { lockName: name, cause: trouble.cause };
  if (trouble.kind === "unknown") {
    return new HoldfastError(
      "unreachable",
      `${title} ${whatFailed}: the table does not answer. Check the endpoint, the region and ` +
        "the network; whether somebody holds the lock is not known.",
      details,
    );
  }
  return new HoldfastError(
    "throttled",
    `${title} ${whatFailed}: DynamoDB refused every request for now (${trouble.kind}). ` +
      "Give the table more capacity, or wait longer; whether somebody holds the lock is not known.",
    details,
  );
}
