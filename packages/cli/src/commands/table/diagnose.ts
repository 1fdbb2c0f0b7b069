import { type Holdfast, type Inspection, inspect } from "holdfast";
import { type ListedEntry, listLocks } from "holdfast/admin";
import { durationMs, shown, sleep, systemTimers } from "holdfast/internal";
import { type DiagnoseOptions, type Finding, diagnose as findingsOf } from "holdfast/table";
import { locksOf, tableOf } from "../../connection.js";
import { Interruptions } from "../../guard/interruptions.js";
import type { Host } from "../../host.js";
import type { CommonOptions } from "../../options.js";
import { EXIT, exitCodeFor, usageError } from "../../output/exit-codes.js";
import { type AnyLocks, assertNative, endText, nameText } from "../../output/format.js";
import { jsonLine, type Output, printable, seconds } from "../../output/output.js";
import { commandLine } from "../../output/shell.js";
import { queueTroubles } from "./diagnose-queues.js";

/** The options of `holdfast diagnose`, as parsed by commander. */
export interface DiagnoseCommandOptions extends CommonOptions {
  readonly for?: string;
  readonly prefix?: string;
  readonly homeRegion?: string;
  readonly scan?: boolean;
  readonly watch?: string;
  readonly engine?: boolean;
  readonly ring?: string;
}

/** A finding of the library, or a finding about records. */
type PrintedFinding = Omit<Finding, "check"> & { readonly check: Finding["check"] | "records" };

const KINDS = ["lock", "leader"] as const;
const WATCH_RANGE = { leastMs: 0, mostMs: 3_600_000 };
// Slightly more than the bound, so that the second listing comes after the bound.
const MARGIN_MS = 100;
// Worst first: without an answer, fixing the rest can wait.
const ORDER = [EXIT.unavailable, EXIT.misconfigured, EXIT.denied];

/** Finds problems, and prints their fixes. Returns the exit status. */
export async function diagnose(
  options: DiagnoseCommandOptions,
  output: Output,
  host: Host,
): Promise<number> {
  const { prefix, homeRegion, scan, watch } = options;
  assertNative(options, "`diagnose`");
  if (watch !== undefined && scan !== true) {
    throw usageError("Without --scan, --watch has no effect. Add --scan, or leave it out.");
  }
  const watchMs = durationMs("watch", watch ?? "65s", WATCH_RANGE);
  const features = itemsOf(options.for);
  const printed: PrintedFinding[] = await findingsOf({
    ...(await tableOf(options, output)),
    for: features as DiagnoseOptions["for"],
    prefix,
    homeRegion,
    rings: itemsOf(options.ring),
  });
  for (const finding of printed) print(finding, output);
  const isSound = printed.every(({ check, level }) => level !== "problem" || check === "ring");
  if (scan === true && isSound) {
    const found = await recordFindings(options, watchMs, output, host);
    if (typeof found === "number") return found;
    for (const finding of found) {
      print(finding, output);
      printed.push(finding);
    }
  }
  const codes = printed.flatMap(({ code }) => (code === undefined ? [] : [exitCodeFor(code)]));
  return ORDER.find((code) => codes.includes(code)) ?? codes[0] ?? EXIT.ok;
}

const itemsOf = (list: string | undefined): string[] | undefined =>
  list?.split(",").map((item) => item.trim());

function print(finding: PrintedFinding, output: Output): void {
  const { check, level, message, fix, latencyMs } = finding;
  if (output.isJson) {
    output.out(jsonLine(finding));
    return;
  }
  const took = latencyMs === undefined ? "" : ` (${latencyMs} ms)`;
  output.out(printable(`${level.padEnd(8)} ${check.padEnd(12)} ${message}${took}`));
  if (fix !== undefined) output.out(printable(`${" ".repeat(22)}Fix: ${fix}`));
}

/**
 * Watches all holders and waiters for the longest lease, by two listings of each kind. Returns the exit status if a signal
 * ends the watch: it then tells of nobody whether they live.
 */
async function recordFindings(
  options: DiagnoseCommandOptions,
  watchMs: number,
  output: Output,
  host: Host,
): Promise<PrintedFinding[] | number> {
  const interruptions = new Interruptions(host, { withReader: true });
  const { ending } = interruptions;
  await using locks = await locksOf(options, output);
  try {
    const first = await listed(locks, options, ending);
    const own = (await readAfterEnd(locks, first.held, ending)).filter(
      ({ session }) => session === undefined,
    );
    const waiting = first.queued.filter(({ session }) => session === undefined);
    const lengthsMs = [
      ...own.map(({ acquirableInMs }) => acquirableInMs),
      ...waiting.map(({ acquirableInMs }) => acquirableInMs),
    ];
    const waitMs = watchOf(lengthsMs, watchMs);
    if (!output.isJson && lengthsMs.length > 0) {
      const what = `${own.length} held, ${waiting.length} queued`;
      output.note(`${what}; watching them for ${seconds(waitMs)}.`);
    }
    await sleep(systemTimers, waitMs, true, ending);
    ending.throwIfAborted();
    const { held, queued } = await listed(locks, options, ending);
    const unjudged = held.filter(
      ({ appearsExpired, acquirableInMs }) => !appearsExpired && acquirableInMs > 0,
    );
    return [
      ...first.unreadable,
      ...held.filter(({ appearsExpired }) => appearsExpired).map(deadFinding),
      ...queueTroubles(first.queued, queued).map(({ message, fix }) =>
        recordsFinding("warning", message, fix),
      ),
      recordsFinding(
        "ok",
        `${held.length} held; ${unjudged.length} alive, on a session, or with a lease longer than the watch. ` +
          `${queued.length} in queues.`,
      ),
    ];
  } catch (error) {
    if (error !== ending.reason) throw error;
    return interruptions.exitCode ?? EXIT.ok;
  } finally {
    interruptions.dispose();
  }
}

/** For how long to watch: until the longest lease ends, at most `mostMs`. Pure. */
export function watchOf(lengthsMs: readonly number[], mostMs: number): number {
  // Not as arguments of one call: a table may have a million.
  const longestMs = lengthsMs.reduce((most, lengthMs) => Math.max(most, lengthMs), 0);
  return Math.min(longestMs, mostMs) + MARGIN_MS;
}

/**
 * Reads each record whose lease has ended, as the listing shows: a strongly consistent read tells a dead holder without
 * a watch. Reads one at a time, because a whole table may have died.
 */
async function readAfterEnd(
  locks: Holdfast<AnyLocks>,
  held: readonly HeldLock[],
  ending: AbortSignal,
): Promise<HeldLock[]> {
  const read: HeldLock[] = [];
  for (const lock of held) {
    const { name, namespace, kind, endsInMs = 0 } = lock;
    read.push(endsInMs < 0 ? heldOf(await inspect(locks, name, { kind, namespace }), kind) : lock);
    ending.throwIfAborted();
  }
  return read;
}

type HeldLock = Omit<Inspection<AnyLocks>, "data" | "attributes"> & {
  readonly kind: (typeof KINDS)[number];
};

/** The lock without its user data: the data of a whole table would not fit into memory. */
function heldOf(
  { data: _, attributes: __, ...lock }: Inspection<AnyLocks>,
  kind: HeldLock["kind"],
): HeldLock {
  return { ...lock, kind };
}

interface Listed {
  readonly held: HeldLock[];
  readonly queued: ListedEntry[];
  readonly unreadable: PrintedFinding[];
}

/** Lists all holders and waiters, and the records that cannot be read. `ending` ends it after a page. */
export async function listed(
  locks: Holdfast<AnyLocks>,
  { prefix }: Pick<DiagnoseCommandOptions, "prefix">,
  ending?: AbortSignal,
): Promise<Listed> {
  const held: HeldLock[] = [];
  const queued: ListedEntry[] = [];
  const unreadable: PrintedFinding[] = [];
  for (const kind of KINDS) {
    for await (const page of listLocks(locks, { kind, prefix })) {
      held.push(...page.locks.map((lock) => heldOf(lock, kind)));
      queued.push(...page.queued);
      for (const { name, found } of page.unreadable) {
        unreadable.push(
          recordsFinding(
            "warning",
            `The record of "${shown(name)}" cannot be read: it ${found}.`,
            "Find out which client wrote this record. The name is blocked until you repair the record, " +
              "or use a version of holdfast that can read it.",
          ),
        );
      }
      ending?.throwIfAborted();
    }
  }
  return { held, queued, unreadable };
}

function deadFinding(lock: HeldLock): PrintedFinding {
  const { name, owner, leaseMs = 0, endsAt, endsInMs = 0 } = lock;
  const since =
    endsInMs < 0
      ? `; its lease ended at ${endsAt}, ${endText(endsInMs)}.`
      : `, without a renewal for the whole lease of ${seconds(leaseMs)}.`;
  return recordsFinding(
    "warning",
    `"${shown(nameText(name))}" is held by ${shown(owner ?? "an unnamed owner")}${since}`,
    `Nothing: the next client takes over. ${freeingText(lock)}`,
  );
}

function freeingText({ kind, holder, namespace, ...lock }: HeldLock): string {
  const name = nameText(lock.name);
  const within = namespace === undefined ? [] : [`--namespace=${namespace}`];
  // A leadership is released by force alone, which frees it from a dead leader at once.
  const how =
    kind === "leader" ? ["--kind=leader", "--force", "--reason=dead"] : [`--holder=${holder}`];
  const words = ["release", ...how, ...within, "--", name];
  const command = commandLine(words, [name, holder, namespace]);
  // Text of another tenant never becomes part of a command to copy.
  return command === undefined
    ? "`holdfast release` frees the lock now, with the name and the holder id quoted for your shell."
    : `To free the lock now: ${command}`;
}

function recordsFinding(
  level: PrintedFinding["level"],
  message: string,
  fix?: string,
): PrintedFinding {
  return { check: "records", level, message, fix, code: undefined, latencyMs: undefined };
}
