import { type Holdfast, inspect } from "holdfast";
import { listLocks, type PermitInspection, type PermitKind } from "holdfast/admin";
import { isoTimeOf, systemClock } from "holdfast/internal";
import { type AnyLocks, nameText } from "../output/format.js";
import { jsonLine, type Output, printable } from "../output/output.js";
import { permitChanges, permitChangeText } from "../output/permits.js";

/** Tells what each scan of a watch costs. */
export function tellCost(units: number, { err, note, isJson }: Output): void {
  if (isJson) err(jsonLine({ scan: { readUnits: units } }));
  else note(`Each poll scans the whole table, at ${units} read units now.`);
}

interface PermitWatchOptions {
  readonly kind: PermitKind;
  readonly prefix: string | undefined;
}

/** Prints each change of the permits of one record, or of all records with a prefix. */
export class PermitWatch {
  readonly #locks: Holdfast<AnyLocks>;
  readonly #options: PermitWatchOptions;
  readonly #output: Output;
  readonly #known = new Map<string, PermitInspection>();
  #hasScanned = false;

  constructor(locks: Holdfast<AnyLocks>, options: PermitWatchOptions, output: Output) {
    this.#locks = locks;
    this.#options = options;
    this.#output = output;
  }

  async poll(lock: { readonly name: AnyLocks["name"] } | undefined): Promise<void> {
    if (lock === undefined) await this.#scan();
    else await this.#inspect(nameText(lock.name));
  }

  async #inspect(name: string): Promise<void> {
    const found = await inspect(this.#locks, name, { kind: this.#options.kind });
    this.#note(found as PermitInspection);
  }

  async #scan(): Promise<void> {
    const { kind, prefix } = this.#options;
    const missing = new Set(this.#known.keys());
    let units = 0;
    for await (const page of listLocks(this.#locks, { kind, prefix, free: true })) {
      units += page.readUnits ?? 0;
      for (const found of page.locks) {
        missing.delete(found.name);
        this.#note(found);
      }
      for (const { name } of page.unreadable) missing.delete(name);
    }
    if (!this.#hasScanned) tellCost(units, this.#output);
    this.#hasScanned = true;
    // A scan can miss a recent record, so only a strongly consistent read shows that a record is absent.
    for (const name of missing) {
      await this.#inspect(name);
      // Otherwise each later poll would read the record again.
      if (this.#known.get(name)?.state === "absent") this.#known.delete(name);
    }
  }

  #note(found: PermitInspection): void {
    const { out, isJson } = this.#output;
    const at = isoTimeOf(systemClock.wallMs());
    const before = this.#known.get(found.name) ?? this.#absent(found);
    for (const { change, permit } of permitChanges(before, found)) {
      const { permits: _, ...state } = found;
      const text = `${at}  ${change.padEnd(8)}  ${permitChangeText(found, permit)}`;
      if (!isJson) out(printable(text));
      else
        out(
          jsonLine(change === "seen" ? { at, change, ...found } : { at, change, permit, ...state }),
        );
    }
    this.#known.set(found.name, found);
  }

  /** The state before the first read of a record that an earlier scan did not show: its permits are new. */
  #absent(found: PermitInspection): PermitInspection | undefined {
    if (!this.#hasScanned) return undefined;
    return { ...found, state: "absent", version: undefined, limit: undefined, permits: [] };
  }
}
