import { type Holdfast, type Inspection, inspect } from "holdfast";
import { listLocks, type PermitKind, type RecordKind } from "holdfast/admin";
import { durationMs, isoTimeOf, shown, sleep, systemClock, systemTimers } from "holdfast/internal";
import { checkKey, locksOf } from "../connection.js";
import { Interruptions } from "../guard/interruptions.js";
import type { Host } from "../host.js";
import type { CommonOptions, NamespaceOptions } from "../options.js";
import { type ChangeKind, changeOf, isOlder } from "../output/changes.js";
import { EXIT } from "../output/exit-codes.js";
import {
  type AnyLocks,
  lockText,
  nameOf,
  nameText,
  type SortOptions,
  withPending,
} from "../output/format.js";
import { jsonLine, type Output, outlasting, printable } from "../output/output.js";
import { assertPlainName, isPermitKind } from "../output/permits.js";
import { WATCH_POLL_RANGE } from "../wait-option.js";
import { PermitWatch, tellCost } from "./watch-permits.js";

/** The options of `holdfast watch`, as parsed by commander. */
interface WatchOptions extends CommonOptions, SortOptions, NamespaceOptions {
  readonly prefix?: string;
  readonly poll?: string;
  readonly kind?: RecordKind | PermitKind;
}

/** Identifies a lock of the table. */
type Watched = Pick<Inspection<AnyLocks>, "name" | "namespace">;

/** Prints each change of a record, or of all records with a prefix. Returns the exit status. */
export async function watch(
  name: string | undefined,
  options: WatchOptions,
  output: Output,
  host: Host,
): Promise<number> {
  const fallback = name === undefined ? "30s" : "1s";
  const pollMs = durationMs("poll", options.poll ?? fallback, WATCH_POLL_RANGE);
  const interruptions = new Interruptions(host, { withReader: true });
  await using locks = await locksOf(options, output);
  const { namespace, kind, prefix } = options;
  const { ending } = interruptions;
  if (isPermitKind(kind)) assertPlainName(options);
  const watching = isPermitKind(kind)
    ? new PermitWatch(locks, { kind, prefix }, output)
    : new Watch(locks, { kind, prefix }, output);
  const asked = name === undefined ? undefined : { name: nameOf(name, options), namespace };
  const polled = outlasting(output, ending);
  try {
    if (asked === undefined) await polled(() => checkKey(locks, options));
    while (!ending.aborted) {
      await polled(() => watching.poll(asked));
      await sleep(systemTimers, pollMs, true, ending);
    }
    return interruptions.exitCode ?? EXIT.ok;
  } finally {
    interruptions.dispose();
  }
}

interface LockWatchOptions {
  readonly prefix: string | undefined;
  readonly kind: RecordKind | undefined;
}

class Watch {
  readonly #locks: Holdfast<AnyLocks>;
  readonly #options: LockWatchOptions;
  readonly #output: Output;
  readonly #known = new Map<string, Inspection<AnyLocks>>();
  #hasPolled = false;

  constructor(locks: Holdfast<AnyLocks>, options: LockWatchOptions, output: Output) {
    this.#locks = locks;
    this.#options = options;
    this.#output = output;
  }

  async poll(lock: Watched | undefined): Promise<void> {
    if (lock === undefined) await this.#scan();
    else await this.#inspect(lock);
    this.#hasPolled = true;
  }

  async #inspect({ name, namespace }: Watched): Promise<void> {
    const { kind } = this.#options;
    this.#note(await inspect(this.#locks, name, { kind, namespace }));
  }

  async #scan(): Promise<void> {
    const missing = new Map<string, Watched>(this.#known);
    const { kind, prefix } = this.#options;
    let units = 0;
    for await (const page of listLocks(this.#locks, { kind, prefix, free: true })) {
      units += page.readUnits ?? 0;
      for (const found of page.locks) {
        missing.delete(idOf(found));
        this.#note(found);
      }
      // An unreadable record still exists: not gone.
      const unreadable = new Set(page.unreadable.map(({ name }) => name));
      for (const [id, { name }] of missing) if (unreadable.has(nameText(name))) missing.delete(id);
    }
    if (!this.#hasPolled) tellCost(units, this.#output);
    // A scan may be older than the record: only a strongly consistent read may conclude absence.
    for (const lock of missing.values()) await this.#inspect(lock);
  }

  #note(found: Inspection<AnyLocks>): void {
    const id = idOf(found);
    const before = this.#known.get(id);
    if (before !== undefined && isOlder(found, before)) return;
    if (found.state === "absent") this.#known.delete(id);
    else this.#known.set(id, found);
    // What a scan without its end has shown is known, too.
    if (this.#hasPolled || before !== undefined) {
      const change = changeOf(before, found);
      if (change !== undefined) this.#print(change.change, change.missed, found);
    } else if (this.#options.prefix === undefined || found.state === "held") {
      // At the first scan print only held locks.
      this.#print("seen", undefined, found);
    }
  }

  #print(
    change: ChangeKind | "seen",
    missed: bigint | undefined,
    found: Inspection<AnyLocks>,
  ): void {
    const at = isoTimeOf(systemClock.wallMs());
    const { out, isJson } = this.#output;
    const what = `${shown(lockText(found))}${detailsOf(found, missed)}`;
    if (isJson) out(jsonLine({ at, change, missed, ...found }));
    else out(printable(`${at}  ${change.padEnd(8)}  ${what}`));
  }
}

function detailsOf(found: Inspection<AnyLocks>, missed: bigint | undefined): string {
  const { state, fence, owner, holder, endsAt, endsInMs } = found;
  const grants = missed === 1n ? "1 grant" : `${missed} grants`;
  const unseen = missed === undefined || missed <= 0n ? "" : `; ${grants} missed in between`;
  const number = fence === undefined ? "" : `fence ${fence}, `;
  const end =
    endsInMs === undefined ? "" : `, lease ${endsInMs > 0 ? "ends" : "ended"} at ${endsAt}`;
  if (state === "held") {
    const who = `${shown(owner ?? "unnamed")} (${shown(holder ?? "")})`;
    return `  ${withPending(`${number}${who}${end}${unseen}`, found)}`;
  }
  if (state !== "free") return `  ${state}`;
  return fence === undefined ? "  free" : `  free, fence ${fence}${unseen}`;
}

// As JSON: joined parts of different names could be equal.
function idOf({ name, namespace }: Watched): string {
  return JSON.stringify([name, namespace]);
}
