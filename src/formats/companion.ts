/**
 * Fences for a format that has none: a number in an item beside the record, the lock's _companion_, under
 * the record's key with {@link SUFFIX} after its last part. Peers neither read nor write it, so it survives
 * their grants, which replace the record, and their releases, which delete it.
 *
 * A grant counts the companion up, and then reads its own record, strongly consistent: if that still names
 * the grant, the number is its fence. Every later grant of ours is made after that read, and so counts up
 * after it; every earlier one that has a fence had read before. So fences grow from grant to grant of ours,
 * without any clock. What was counted up and is not handed out is a number that nobody has.
 *
 * What it cannot do: number the grants of peers. The number that one of ours has is refused by a store that
 * saw a higher one, and only a later grant of ours brings that; what a peer writes meanwhile carries none.
 * The record itself says no number, so nobody else can tell whose it is.
 */
import type { FenceCounter, RecordRef } from "../core/record/format.js";
import type { LockName } from "../core/record/format-types.js";
import type { Condition, Item } from "../platform/table.js";
import { any, equals, invalid, isAbsent } from "./foreign.js";

/** How the names of companions end. */
export const SUFFIX = "#holdfast-fence";

const FENCE = "fence";
// As of a native record: counted up beyond 38 digits, it could not be read any more.
const IS_NUMBERED: Condition = {
  kind: "below",
  attribute: FENCE,
  value: { N: (10n ** 37n).toString() },
};

/** Where a format keeps its fences: nowhere, or in a companion. */
export type Fences = "companion" | undefined;

/** The fence of a lease in a format with these options. */
export type FenceOf<O> = O extends { readonly fences: "companion" } ? bigint : undefined;

/**
 * The counter of a format whose partition key is `pk` and whose sort key, if any, is `sk`. `looks`: what
 * the companion has besides, so that a peer which lists the table can read it.
 */
export function companion(pk: string, sk: string | undefined, looks: Item): FenceCounter {
  return {
    count: (ref: RecordRef, seed: bigint) => ({
      key: keyOf(ref, sk ?? pk),
      // Whatever else is there is somebody's, and its place is not taken.
      condition: any(isAbsent(pk), IS_NUMBERED),
      change: { set: { ...looks, [FENCE]: { incrementFrom: seed.toString() } }, remove: [] },
    }),
    numberIn(item) {
      const value = item?.[FENCE];
      const isNumber = value !== undefined && "N" in value && /^\d{1,38}$/.test(value.N);
      return isNumber ? BigInt(value.N) : undefined;
    },
    isLast: (ref, number) => ({
      key: keyOf(ref, sk ?? pk),
      condition: equals(FENCE, { N: number.toString() }),
    }),
  };
}

/** Whether it is the name of a companion, and of no lock. */
export function isCompanion(name: LockName): boolean {
  return (typeof name === "string" ? name : name[1]).endsWith(SUFFIX);
}

/** Throws `invalid-argument` for a name that would be a companion's. */
export function checkNoCompanion(name: LockName): void {
  if (!isCompanion(name)) return;
  throw invalid(`A lock's name must not end in "${SUFFIX}": there the fences of another are kept.`);
}

/** Throws `invalid-argument` for anything but what the types say. */
export function checkFences(fences: unknown): void {
  if (fences === undefined || fences === "companion") return;
  throw invalid(`The option \`fences\` must be "companion"; it is ${JSON.stringify(fences)}.`);
}

function keyOf({ key }: RecordRef, last: string): Item {
  const value = key[last] as { readonly S: string };
  return { ...key, [last]: { S: value.S + SUFFIX } };
}
