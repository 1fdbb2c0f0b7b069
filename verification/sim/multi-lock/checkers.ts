import type { Item, Transaction } from "../../../src/platform/table.js";
import type { TableChange } from "../../../src/testing/table/memory-table.js";
import { numberIn, stringIn, ticketIn } from "../queue/checkers.js";

/** A violation of the rules for several locks granted together. */
export interface JointViolation {
  readonly invariant:
    | "exclusion"
    | "fence order"
    | "served order"
    | "all or none"
    | "told fence"
    | "no deadlock"
    | "nothing left"
    | "paced";
  readonly atMs: number;
  readonly what: string;
}

interface Member {
  readonly key: Item;
  readonly holder: string;
}

/** Observes the table's contents for all names, in true time. */
export class JointChecker {
  readonly violations: JointViolation[] = [];
  grants = 0;
  jointGrants = 0;
  readonly #itemOf: (key: Item) => Item | undefined;
  /** For each holder in a sent transaction, all holders of the same transaction. */
  readonly #together = new Map<string, readonly Member[]>();

  constructor(itemOf: (key: Item) => Item | undefined) {
    this.#itemOf = itemOf;
  }

  /** Records a sent transaction. */
  sent({ writes }: Transaction): void {
    const members = writes.flatMap(({ key, change }) => {
      const holder = stringIn(change.set as never, "holder");
      return holder === undefined ? [] : [{ key, holder }];
    });
    for (const { holder } of members) this.#together.set(holder, members);
  }

  changed({ key, before, after, atMs, by }: TableChange): void {
    if (by !== "write" || after === undefined) return;
    const holder = stringIn(after, "holder");
    if (holder === undefined || holder === stringIn(before ?? {}, "holder")) return;
    const members = this.#together.get(holder);
    // Applies to entries as to locks.
    if (members !== undefined) this.#expectAll(members, atMs);
    if (ticketIn(key) !== undefined || stringIn(key, "pk")?.startsWith("lock#") !== true) return;
    this.grants += 1;
    if (members !== undefined) this.jointGrants += 1;
    for (const [what, invariant] of [
      ["fence", "fence order"],
      ["served", "served order"],
    ] as const) {
      const [then, now] = [numberIn(before ?? {}, what), numberIn(after, what)];
      if (then === undefined || (now !== undefined && now >= then)) continue;
      this.violate(invariant, atMs, `${stringIn(key, "pk")}: ${now} after ${then}`);
    }
  }

  violate(invariant: JointViolation["invariant"], atMs: number, what: string): void {
    this.violations.push({ invariant, atMs, what });
  }

  #expectAll(members: readonly Member[], atMs: number): void {
    const there = members.filter(
      ({ key, holder }) => stringIn(this.#itemOf(key) ?? {}, "holder") === holder,
    );
    if (there.length === members.length) return;
    this.violate("all or none", atMs, `${there.length} of ${members.length} were granted`);
  }
}
