import type { ErrorCode } from "holdfast";
import { isHoldfastError } from "holdfast/internal";

/**
 * The exit statuses, after BSD's sysexits and the shells. Scripts can distinguish a held lock from a missing
 * table without parsing text.
 */
export const EXIT = Object.freeze({
  ok: 0,
  failed: 1,
  usage: 64,
  noInput: 66,
  unavailable: 69,
  internal: 70,
  precondition: 74,
  /** The same number as `precondition`: sysexits has only 74 for errors of input and output. */
  io: 74,
  notAcquired: 75,
  lost: 76,
  denied: 77,
  misconfigured: 78,
  /** Beyond those of sysexits, which has none that fits. */
  interrupted: 79,
  notExecutable: 126,
  notFound: 127,
  /** The base: the number of the signal is added. */
  signalled: 128,
});

const BY_CODE: Readonly<Record<ErrorCode, number>> = {
  "not-acquired": EXIT.notAcquired,
  lost: EXIT.lost,
  "limit-mismatch": EXIT.misconfigured,
  resigned: EXIT.lost,
  interrupted: EXIT.interrupted,
  closed: EXIT.internal,
  "foreign-record": EXIT.misconfigured,
  "unsupported-layout": EXIT.misconfigured,
  misconfigured: EXIT.misconfigured,
  "access-denied": EXIT.denied,
  throttled: EXIT.unavailable,
  unreachable: EXIT.unavailable,
  "invalid-argument": EXIT.usage,
  "outcome-unknown": EXIT.unavailable,
  "already-exists": EXIT.precondition,
  "precondition-failed": EXIT.precondition,
  "not-found": EXIT.noInput,
};

/** A failure of the command line itself. */
export class CliError extends Error {
  readonly code: string;
  readonly exitCode: number;

  constructor(code: string, exitCode: number, message: string) {
    super(message);
    this.code = code;
    this.exitCode = exitCode;
  }
}

/** Wrong use of the command line. */
export function usageError(message: string): CliError {
  return new CliError("usage", EXIT.usage, message);
}

/** The report of an error: code, a line of text, and exit status. */
export function failureOf(error: unknown): {
  readonly code: string;
  readonly message: string;
  readonly exitCode: number;
} {
  if (error instanceof CliError) return error;
  if (isHoldfastError(error)) {
    // A library of a later version may have an unlisted code.
    const exitCode = (BY_CODE as Readonly<Record<string, number>>)[error.code] ?? EXIT.internal;
    return { code: error.code, message: error.message, exitCode };
  }
  const message = error instanceof Error ? error.message : String(error);
  return { code: "internal", message: `Unexpected error: ${message}`, exitCode: EXIT.internal };
}

/** The exit status for the code of an error of the library's. */
export function exitCodeFor(code: ErrorCode): number {
  return BY_CODE[code];
}

/** The part of every help text for authors of scripts. */
export const EXIT_CODES_HELP = `
Exit status:
  0    done
  64   wrong usage
  69   the table cannot be reached, or refuses every request for now
  70   a fault of holdfast's own
  74   the output could not be written
  77   access denied
  78   the table is missing or of another shape, or a record is not one of ours
  141  the reader of the output has gone
With --json an error is one object on stderr: {"error":{"code":...,"message":...}}`;

/** The same for `object`. */
export const OBJECT_EXIT_CODES_HELP = `
Exit status:
  0    done
  64   wrong usage
  66   there is no such object
  69   the object store or the table cannot be reached, or the outcome of the write is unknown
  70   a fault of holdfast's own
  74   the object exists already, or has another ETag, and nothing was written; or the
       output could not be written: with --json the error's code is then "output"
  75   another writer's commit record was in the table for the whole wait; nothing was written
  76   the writer's own record expired before the write was sent; nothing was written
  77   access denied
  78   the bucket or the table is missing or of another shape, or a record is not one of ours
With --json an error is one object on stderr: {"error":{"code":...,"message":...}}`;

/** The same for `lock`. */
export const LOCK_EXIT_CODES_HELP = `
Exit status:
  the command's own exit status, if the command ran to its end; and
  64   wrong usage
  69   the table cannot be reached, or refuses every request for now
  70   a fault of holdfast's own, such as the death of the guard; the command was killed
  75   the lock was not acquired in time; the command was not run
  76   the lease was lost; the command was stopped
  77   access denied
  78   the table is missing or of another shape, or the record is not one of ours
  79   another client interrupted the command, which was stopped; or, with --if-held interrupt,
       a newer command came before this one, which was not run
  126  the command cannot be executed
  127  the command was not found
  128+n  the command died of signal n, or holdfast received signal n before the command ran`;

/** The same for `elect`. */
export const ELECT_EXIT_CODES_HELP = `
Exit status:
  the exit status of the command's last run, if this run ended by itself or by a signal; and
  64   wrong usage
  69   the table cannot be reached, or refuses every request for now
  70   a fault of holdfast's own, such as the death of the guard; the command was killed
  76   with --once: the leadership was lost; the command was stopped
  77   access denied
  78   the table is missing or of another shape, or the record is not one of ours
  126  the command cannot be executed
  127  the command was not found
  128+n  the command died of signal n, or holdfast received signal n while no command ran`;
