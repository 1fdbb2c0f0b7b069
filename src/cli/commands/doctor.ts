import {
  type DiagnoseOptions,
  diagnose,
  type Finding,
  type Holdfast,
  type Inspection,
  type ListedEntry,
} from "../../index.js";
import { durationMs } from "../../internal/duration.js";
import { shown } from "../../internal/shown.js";
import { sleep } from "../../internal/sleep.js";
import { systemTimers } from "../../platform/timers.js";
import { locksOf, tableOf } from "../connection.js";
import { Interruptions } from "../guard/interruptions.js";
import type { CommonOptions } from "../options.js";
import { EXIT, exitCodeFor } from "../output/exit-codes.js";
import { type AnyLocks, assertNative, nameText } from "../output/format.js";
import { jsonLine, type Output, printable, seconds } from "../output/output.js";
import { queueTroubles } from "./doctor-queues.js";

/** The options of `holdfast doctor`, as commander leaves them. */
export interface DoctorOptions extends CommonOptions {
  readonly for?: string;
  readonly prefix?: string;
  readonly homeRegion?: string;
  readonly scan?: boolean;
  readonly watch?: string;
}

/** What is told: a finding of the library's, or one of the records. */
type Told = Omit<Finding, "check"> & { readonly check: Finding["check"] | "records" };

const KINDS = ["lock", "leader"] as const;
const WATCH_RANGE = { leastMs: 0, mostMs: 3_600_000 };
// A little more than the bound, so that the second listing comes after it.
const MARGIN_MS = 100;
// The worst first: where nobody answers, the rest is not worth mending yet.
const ORDER = [EXIT.unavailable, EXIT.misconfigured, EXIT.denied];

/** Looks for what is wrong, and says what to do about it. Answers the exit status. */
export async function doctor(options: DoctorOptions, output: Output): Promise<number> {
  const { prefix, homeRegion, scan, watch } = options;
  assertNative(options, "`doctor`");
  const watchMs = durationMs("watch", watch ?? "65s", WATCH_RANGE);
  const features = options.for?.split(",").map((feature) => feature.trim());
  const told: Told[] = await diagnose({
    ...(await tableOf(options)),
    for: features as DiagnoseOptions["for"],
    prefix,
    homeRegion,
  });
  for (const finding of told) tell(finding, output);
  const isSound = told.every(({ level }) => level !== "problem");
  if (scan === true && isSound) {
    for (const finding of await recordFindings(options, watchMs, output)) {
      tell(finding, output);
      told.push(finding);
    }
  }
  const codes = told.flatMap(({ code }) => (code === undefined ? [] : [exitCodeFor(code)]));
  return ORDER.find((code) => codes.includes(code)) ?? codes[0] ?? EXIT.ok;
}

function tell(finding: Told, output: Output): void {
  const { check, level, message, fix, latencyMs } = finding;
  if (output.isJson) {
    output.out(jsonLine(finding));
    return;
  }
  const took = latencyMs === undefined ? "" : ` (${latencyMs} ms)`;
  output.out(printable(`${level.padEnd(8)} ${check.padEnd(12)} ${message}${took}`));
  if (fix !== undefined) output.out(printable(`${" ".repeat(22)}Fix: ${fix}`));
}

/** Watches every holder for the longest lease; two listings of each kind. */
async function recordFindings(
  options: DoctorOptions,
  watchMs: number,
  output: Output,
): Promise<Told[]> {
  const interruptions = new Interruptions();
  await using locks = await locksOf(options, output);
  try {
    const first = await listed(locks, options);
    const own = first.held.filter(({ session }) => session === undefined);
    const waiting = first.queued.filter(({ session }) => session === undefined);
    const lengthsMs = [
      ...own.map(({ acquirableInMs }) => acquirableInMs),
      ...waiting.map(({ acquirableInMs }) => acquirableInMs),
    ];
    const waitMs = Math.min(Math.max(0, ...lengthsMs), watchMs) + MARGIN_MS;
    if (!output.isJson && lengthsMs.length > 0) {
      const what = `${own.length} held, ${waiting.length} queued`;
      output.err(`holdfast: ${what}; watching them for ${seconds(waitMs)}.`);
    }
    await sleep(systemTimers, waitMs, true, interruptions.ending);
    const { held, queued } = await listed(locks, options);
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
        `${held.length} held; ${unjudged.length} of them alive, on a session, or of a longer lease than was watched. ` +
          `${queued.length} in queues.`,
      ),
    ];
  } finally {
    interruptions.dispose();
  }
}

interface Listed {
  readonly held: Inspection<AnyLocks>[];
  readonly queued: ListedEntry[];
  readonly unreadable: Told[];
}

async function listed(locks: Holdfast<AnyLocks>, { prefix }: DoctorOptions): Promise<Listed> {
  const held: Inspection<AnyLocks>[] = [];
  const queued: ListedEntry[] = [];
  const unreadable: Told[] = [];
  for (const kind of KINDS) {
    for await (const page of locks.list({ kind, prefix })) {
      held.push(...page.locks);
      queued.push(...page.queued);
      for (const { name, found } of page.unreadable) {
        unreadable.push(
          recordsFinding(
            "warning",
            `The record of "${shown(name)}" cannot be read: it ${found}.`,
            "Find out who wrote it; nobody can take that name until it is mended or a newer version reads it.",
          ),
        );
      }
    }
  }
  return { held, queued, unreadable };
}

function deadFinding({ name, owner, holder, leaseMs = 0 }: Inspection<AnyLocks>): Told {
  return recordsFinding(
    "warning",
    `"${shown(nameText(name))}" is held by ${shown(owner ?? "nobody named")}, who has not renewed it for its lease of ${seconds(leaseMs)}.`,
    "Nothing: whoever asks for it next takes it over. To free it now, if it is a lock: " +
      `holdfast release ${nameText(name)} --holder ${holder}`,
  );
}

function recordsFinding(level: Told["level"], message: string, fix?: string): Told {
  return { check: "records", level, message, fix, code: undefined, latencyMs: undefined };
}
