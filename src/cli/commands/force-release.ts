import type { ForceReleaseResult, RecordKind } from "../../index.js";
import { shown } from "../../internal/shown.js";
import { locksOf } from "../connection.js";
import { Interruptions } from "../guard/interruptions.js";
import type { CommonOptions, NamespaceOptions } from "../options.js";
import { CliError, EXIT, usageError } from "../output/exit-codes.js";
import { inNamespace, nameOf, type SortOptions } from "../output/format.js";
import { jsonLine, type Output, printable } from "../output/output.js";

/** The options of `holdfast release --force`, as commander leaves them. */
export interface ForceOptions extends CommonOptions, SortOptions, NamespaceOptions {
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
  const { kind = "lock", namespace, reason, by, now, wait } = options;
  if (!reason)
    throw usageError('Say why with --reason "TEXT": its holder is told, and it is kept.');
  const interruptions = new Interruptions();
  await using locks = await locksOf(options, output);
  try {
    const { ending: signal } = interruptions;
    const asked = { kind, namespace, reason, by, now, wait, signal };
    const result = await locks.forceRelease(nameOf(name, options), asked);
    const subject = printable(`${SUBJECT[kind]} "${name}"${inNamespace(namespace)}`);
    if (!result.isFree && result.successor === undefined) {
      throw new CliError(
        "not-acquired",
        EXIT.notAcquired,
        `${subject}: its holder has not ended in time. It stays asked, and may do so later; with --now ` +
          "it is freed without it.",
      );
    }
    output.out(
      output.isJson
        ? jsonLine({ name, namespace, ...result })
        : told(subject, result, now === true),
    );
    return EXIT.ok;
  } catch (error) {
    if (interruptions.exitCode === undefined) throw error;
    return interruptions.exitCode;
  } finally {
    interruptions.dispose();
  }
}

const SUBJECT = Object.freeze({ lock: "Lock", leader: "LeaderInfo" });

function told(subject: string, result: ForceReleaseResult, now: boolean): string {
  const { holder, owner, successor } = result;
  if (holder === undefined) return `${subject} was free already.`;
  const former = shown(owner ?? holder);
  if (successor !== undefined) {
    const next = shown(successor.owner ?? successor.holder);
    return `${subject} is held by ${next} now, which was not asked; ${former} held it before.`;
  }
  const was = `${subject} is free; ${former} held it.`;
  return now ? `${was} Until its next renewal it may still act.` : was;
}
