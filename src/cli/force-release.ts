import type { ForceReleaseResult, RecordKind } from "../index.js";
import { shown } from "../internal/shown.js";
import { locksOf } from "./connection.js";
import { CliError, EXIT, usageError } from "./exit-codes.js";
import { nameOf, type SortOptions } from "./format.js";
import { Interruptions } from "./interruptions.js";
import type { CommonOptions } from "./options.js";
import { jsonLine, type Output, printable } from "./output.js";

/** The options of `holdfast release --force`, as commander leaves them. */
export interface ForceOptions extends CommonOptions, SortOptions {
  readonly kind?: RecordKind;
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
  const { kind = "lock", reason, by, now, wait } = options;
  if (!reason)
    throw usageError('Say why with --reason "TEXT": its holder is told, and it is kept.');
  const interruptions = new Interruptions();
  await using locks = await locksOf(options, output);
  try {
    const { ending: signal } = interruptions;
    const result = await locks.forceRelease(nameOf(name, options), {
      kind,
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
        `${SUBJECT[kind]} "${name}": its holder has not ended in time. It stays asked, and may do so later; with --now ` +
          "it is freed without it.",
      );
    }
    output.out(
      output.isJson
        ? jsonLine({ name, ...result })
        : told(SUBJECT[kind], name, result, now === true),
    );
    return EXIT.ok;
  } catch (error) {
    if (interruptions.exitCode === undefined) throw error;
    return interruptions.exitCode;
  } finally {
    interruptions.dispose();
  }
}

const SUBJECT = Object.freeze({ lock: "Lock", leader: "Leadership" });

function told(
  subject: string,
  name: string,
  { holder, owner }: ForceReleaseResult,
  now: boolean,
): string {
  const lock = `${subject} "${printable(name)}"`;
  if (holder === undefined) return `${lock} was free already.`;
  const was = `${lock} is free; ${shown(owner ?? "somebody")} held it.`;
  return now ? `${was} Until its next renewal it may still act.` : was;
}
