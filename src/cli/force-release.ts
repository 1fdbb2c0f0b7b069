import type { ForceReleaseResult } from "../index.js";
import { locksOf } from "./connection.js";
import { CliError, EXIT, usageError } from "./exit-codes.js";
import { nameOf, type SortOptions } from "./format.js";
import { Interruptions } from "./interruptions.js";
import type { CommonOptions } from "./options.js";
import { jsonLine, type Output, printable } from "./output.js";

/** The options of `holdfast release --force`, as commander leaves them. */
export interface ForceOptions extends CommonOptions, SortOptions {
  readonly reason?: string;
  readonly by?: string;
  readonly now?: boolean;
  readonly wait?: string;
}

/** Asks a holder to end, or ends it, and waits until the lock is free. Answers the exit status. */
export async function forceRelease(
  name: string,
  options: ForceOptions,
  output: Output,
): Promise<number> {
  const { reason, by, now, wait } = options;
  if (!reason)
    throw usageError('Say why with --reason "TEXT": its holder is told, and it is kept.');
  const interruptions = new Interruptions();
  await using locks = await locksOf(options, output);
  try {
    const { ending: signal } = interruptions;
    const result = await locks.forceRelease(nameOf(name, options), {
      reason,
      by,
      now,
      wait,
      signal,
    });
    if (!result.isFree) {
      throw new CliError(
        "not-acquired",
        EXIT.notAcquired,
        `The holder of "${name}" has not ended in time. It stays asked, and may do so later; with --now ` +
          "the lock is freed without it.",
      );
    }
    output.out(output.isJson ? jsonLine({ name, ...result }) : told(name, result, now === true));
    return EXIT.ok;
  } catch (error) {
    if (interruptions.exitCode === undefined) throw error;
    return interruptions.exitCode;
  } finally {
    interruptions.dispose();
  }
}

function told(name: string, { holder, owner }: ForceReleaseResult, now: boolean): string {
  const lock = `Lock "${printable(name)}"`;
  if (holder === undefined) return `${lock} was free already.`;
  const was = `${lock} is free; ${printable(owner ?? "somebody")} held it.`;
  return now ? `${was} Until its next renewal it may still act.` : was;
}
