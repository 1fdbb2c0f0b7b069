import {
  type ForceReleaseResult,
  forceRelease as forceReleaseOf,
  type HolderKind,
  type PermitKind,
} from "holdfast/admin";
import { shown } from "holdfast/internal";
import { locksOf } from "../connection.js";
import { Interruptions } from "../guard/interruptions.js";
import type { Host } from "../host.js";
import type { CommonOptions, NamespaceOptions } from "../options.js";
import { CliError, EXIT, usageError } from "../output/exit-codes.js";
import { inNamespace, nameOf, type SortOptions } from "../output/format.js";
import { jsonLine, type Output, printable } from "../output/output.js";
import { assertPlainName, isPermitKind } from "../output/permits.js";
import { lengthOf } from "../wait-option.js";
import { noteWait } from "../waiting.js";

/** The options of `holdfast release --force`, as parsed by commander. */
interface ForceOptions extends CommonOptions, SortOptions, NamespaceOptions {
  readonly kind?: HolderKind | PermitKind;
  readonly holder?: string;
  readonly reason?: string;
  readonly by?: string;
  readonly now?: boolean;
  readonly wait?: string;
}

/** Asks a holder to release, or frees its lock, and waits until the lock is free. Returns the exit status. */
export async function forceRelease(
  name: string,
  options: ForceOptions,
  output: Output,
  host: Host,
): Promise<number> {
  const { kind = "lock", namespace, reason, by, now, wait } = options;
  if (!reason)
    throw usageError(
      'The reason is missing. Add --reason "TEXT": the holder gets this text, and `holdfast inspect` shows it.',
    );
  const interruptions = new Interruptions(host);
  await using locks = await locksOf(options, output);
  const subject = printable(`${SUBJECT[kind]} "${name}"${inNamespace(namespace)}`);
  const text = `${subject} is not free yet: its holder was asked to release.`;
  const note = noteWait(output, "applied", text);
  try {
    const { ending: signal } = interruptions;
    const asked = { reason, by, now, wait: lengthOf(wait), signal };
    const result = isPermitKind(kind)
      ? await forceReleaseOf(locks, name, { kind, holder: holderOf(options), ...asked })
      : await forceReleaseOf(locks, nameOf(name, options), { kind, namespace, ...asked });
    if (isPermitKind(kind) && result.holder === undefined) throw notHeld(name, options);
    if (!result.isFree && result.successor === undefined) {
      throw new CliError(
        "not-acquired",
        EXIT.notAcquired,
        `${subject}: the holder has not released in time. ${REMAINS} To free the lock without waiting for the holder, use --now.`,
      );
    }
    output.out(
      output.isJson
        ? jsonLine({ name, namespace, ...result })
        : described(subject, result, now === true),
    );
    return EXIT.ok;
  } catch (error) {
    if (interruptions.exitCode === undefined) throw error;
    if (note.hasBegun) output.note(`${subject}: ${REMAINS}`);
    return interruptions.exitCode;
  } finally {
    note.end();
    interruptions.dispose();
  }
}

const REMAINS = "The request remains, and the holder may still release.";

const SUBJECT = Object.freeze({
  lock: "Lock",
  leader: "Leadership",
  semaphore: "The permit of semaphore",
  "read-write": "The permit of read-write lock",
});

function holderOf({ holder, ...options }: ForceOptions): string {
  assertPlainName(options);
  if (holder) return holder;
  throw usageError(
    "The holder is missing. A forced release ends one permit: add --holder ID. `holdfast inspect --kind` shows the holders.",
  );
}

function notHeld(name: string, { holder }: ForceOptions): CliError {
  const message = `Holder "${holder}" has no permit of "${name}". Nothing was changed.`;
  return new CliError("lost", EXIT.lost, message);
}

/** The result, for people. Pure. */
export function described(subject: string, result: ForceReleaseResult, now: boolean): string {
  const { holder, owner, successor, wasDead } = result;
  if (holder === undefined) return `${subject} was free already.`;
  const former = shown(owner ?? holder);
  if (successor !== undefined) {
    const next = shown(successor.owner ?? successor.holder);
    return `${subject} is no longer held by ${former}; ${next} holds it now.`;
  }
  if (wasDead)
    return `${subject} is free: its holder, ${former}, was dead, and its lock was freed.`;
  const was = `${subject} is free; the holder was ${former}.`;
  return now ? `${was} That holder may still act until its next renewal.` : was;
}
