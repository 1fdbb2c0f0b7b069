import type { AcquireContext } from "../core/acquire/context.js";
import type { Running } from "../core/hold/close.js";
import type { RecordRef } from "../core/record/format.js";
import { HoldfastError } from "../errors.js";
import { valueText } from "../internal/value-text.js";
import { Monitor } from "./events.js";
import type { ElectionSettings } from "./options.js";

/** The state and services that the parts of one candidate share. */
export interface Candidate {
  readonly context: AcquireContext;
  /** The callbacks that the client's `close()` waits for. */
  readonly running: Set<Running>;
  readonly ref: RecordRef;
  readonly settings: ElectionSettings;
  readonly monitor: Monitor;
  readonly trouble: Trouble;
  /** Reports an error that no caller can receive. */
  readonly report: (cause: unknown) => void;
}

/** The error that prevents a candidate from campaigning, until DynamoDB serves the candidate again. */
export class Trouble {
  #error: unknown;
  #request: "read" | "write" | undefined;

  get error(): unknown {
    return this.#error;
  }

  /** Notes an error. `request`: the kind of request that failed, or undefined if no single request did. */
  note(error: unknown, request?: "read" | "write"): void {
    this.#error = error;
    this.#request = request;
  }

  /** Ends the trouble after an answered read, unless DynamoDB refused the write that an election needs now. */
  answered(isLed: boolean): void {
    if (this.#request !== "write" || isLed) this.note(undefined);
  }
}

/** Composes the parts of one candidate. */
export function candidateOf(
  { context, running }: Pick<Candidate, "context" | "running">,
  ref: RecordRef,
  settings: ElectionSettings,
): Candidate {
  const report = (cause: unknown): void => context.report(asHoldfastError(ref.name, cause));
  const monitor = new Monitor(ref.name, settings.grant.owner, report);
  return { context, running, ref, settings, monitor, trouble: new Trouble(), report };
}

function asHoldfastError(name: string, cause: unknown): HoldfastError {
  if (cause instanceof HoldfastError) return cause;
  const what = cause instanceof Error ? cause.message : valueText(cause);
  const message = `A callback of the candidate for "${name}" failed: ${what}`;
  return new HoldfastError("outcome-unknown", message, { lockName: name, cause });
}

/** The error of a candidate whose client is closed. */
export function closedError(name: string): HoldfastError {
  return new HoldfastError(
    "closed",
    `The candidate for "${name}" cannot go on: the client was closed. Create a new client.`,
    { lockName: name },
  );
}
