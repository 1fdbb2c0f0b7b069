import { isHoldfastError, semaphore as semaphoreOf } from "holdfast";
import { setLimit as setLimitOf } from "holdfast/admin";
import { locksOf } from "../connection.js";
import { commandLineOf, type GuardOptions } from "../guard/command-line.js";
import { holdWhile, type Waiting } from "../guard/hold-while.js";
import type { Host } from "../host.js";
import type { CommonOptions } from "../options.js";
import { CliError, EXIT, usageError } from "../output/exit-codes.js";
import { jsonLine, type Output, printable } from "../output/output.js";
import { refuseManualRenewal, waitOf } from "../wait-option.js";

/** The options of `holdfast semaphore`, as parsed by commander. */
export interface SemaphoreOptions extends CommonOptions, GuardOptions {
  readonly permits?: string;
  readonly weight?: string;
  readonly wait?: string;
  readonly lease?: string;
  readonly renew?: string;
  readonly maxHold?: string;
  readonly owner?: string;
  readonly setLimit?: string;
  readonly refuseLimit?: boolean;
}

/** Holds a permit of a semaphore while a command runs. Returns the exit status. */
export async function semaphore(
  name: string,
  command: readonly string[],
  options: SemaphoreOptions,
  output: Output,
  host: Host,
): Promise<number> {
  const line = commandLineOf(command, options, host, output);
  const { wait, owner, lease, renew, maxHold } = options;
  refuseManualRenewal(renew);
  if (options.permits === undefined) {
    throw usageError(
      "The limit is missing: add --permits N. The first command stores it in the table.",
    );
  }
  const permits = numberOf("--permits", options.permits);
  const weight = numberOf("--weight", options.weight ?? "1");
  // A permit lives by the session of its client, so the client has the length of the lease.
  const locks = await locksOf(options, output, { lease, renew, name });
  const onLimitMismatch = ({ found }: { readonly found: number }): void =>
    output.note(
      `Semaphore "${printable(name)}" has a limit of ${found} in the table, and --permits ${permits} has no effect. ` +
        `To change the limit: holdfast semaphore ${printable(name)} --set-limit ${permits}.`,
    );
  const asked = options.refuseLimit === true ? ("refuse" as const) : onLimitMismatch;
  const acquire = (waiting: Waiting) =>
    semaphoreOf(locks, name, { permits, onLimitMismatch: asked })
      .acquire({ weight, maxHold, wait: waitOf(wait), owner, ...waiting })
      .catch((error: unknown) => {
        throw withNextStep(error, name, permits);
      });
  const program = command[0] ?? "";
  const plan = {
    locks,
    acquire,
    line,
    program,
    ignoreHup: options.ignoreHup,
    maxHold: options.maxHold,
  };
  return holdWhile(plan, output, host);
}

/** Changes the limit of a semaphore. Returns the exit status. */
export async function setLimit(
  name: string,
  options: SemaphoreOptions,
  output: Output,
): Promise<number> {
  const limit = numberOf("--set-limit", options.setLimit ?? "");
  await using locks = await locksOf(options, output);
  const { before, used } = await setLimitOf(locks, name, limit);
  const was = before === undefined ? "it had none before" : `it was ${before} before`;
  const text = `Semaphore "${printable(name)}" has a limit of ${limit}; ${was}. In use: ${used}.`;
  output.out(output.isJson ? jsonLine({ name, limit, before, used }) : text);
  return EXIT.ok;
}

function numberOf(option: string, text: string): number {
  if (/^\d+$/.test(text)) return Number(text);
  throw usageError(`${option} must be a whole number; it is "${text}".`);
}

/** The error of another limit names the command that changes the limit, too. */
function withNextStep(error: unknown, name: string, permits: number): unknown {
  if (!isHoldfastError(error, "limit-mismatch")) return error;
  return new CliError(
    error.code,
    EXIT.misconfigured,
    `${error.message} On the command line: holdfast semaphore ${printable(name)} --set-limit ${permits}.`,
  );
}
