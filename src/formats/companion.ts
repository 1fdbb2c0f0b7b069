/**
 * Fences for a format without fences: a counter in an item beside the record, the lock's _companion_. Its key
 * is the record's key with {@link SUFFIX} after the last part. Peers neither read nor write the companion, so
 * the counter survives their grants, which replace the record, and their releases, which delete the record.
 *
 * After a grant, the client increments the counter and then reads its own record with strong consistency. If
 * the record still names the grant, the number is the grant's fence. A later grant of this library comes after
 * this read, and so increments the counter later; an earlier grant with a fence did its read before. So fences
 * grow from grant to grant of this library, without any clock. An incremented number that failed the check is
 * never used as a fence.
 *
 * Not promised: grants of peers have no number. A store that has seen a higher number refuses a lower one, but
 * only a later grant of this library brings the higher number; a peer's writes until then carry none. The
 * record itself contains no number, so other clients cannot match a number with its grant.
 */
import type { FenceCounter, RecordRef } from "../core/record/format.js";
import type { LockName } from "../core/record/format-types.js";
import type { Condition, Item } from "../platform/table.js";
import { any, equals, invalid, isAbsent } from "./foreign.js";

/** The suffix of a companion's name. */
export const SUFFIX = "#holdfast-fence";

const FENCE = "fence";
// The limit of a native record: a counter beyond 38 digits becomes unreadable.
const IS_NUMBERED: Condition = {
  kind: "below",
  attribute: FENCE,
  value: { N: (10n ** 37n).toString() },
};

/** Where a format stores its fences: in a companion, or nowhere. */
export type Fences = "companion" | undefined;

/** The type of a lease's fence in a format with these options. */
export type FenceOf<O> = O extends { readonly fences: "companion" } ? bigint : undefined;

/**
 * Makes the counter of a format with the partition key `pk` and an optional sort key `sk`. `looks`: further
 * attributes of a companion, so that a peer can read it in a listing of the table.
 */
export function companion(pk: string, sk: string | undefined, looks: Item): FenceCounter {
  return {
    count: (ref: RecordRef, seed: bigint) => ({
      key: keyOf(ref, sk ?? pk),
      // Any other item at the key belongs to another program: the counter leaves it alone.
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

/** Whether the name is a companion's, and not a lock's. */
export function isCompanion(name: LockName): boolean {
  return (typeof name === "string" ? name : name[1]).endsWith(SUFFIX);
}

/** Throws `invalid-argument` for a lock's name that could be a companion's. */
export function checkNoCompanion(name: LockName): void {
  if (!isCompanion(name)) return;
  throw invalid(`A lock's name must not end in "${SUFFIX}": such names are for stored fences.`);
}

/** Throws `invalid-argument` for a value outside the type {@link Fences}. */
export function checkFences(fences: unknown): void {
  if (fences === undefined || fences === "companion") return;
  throw invalid(`The option \`fences\` must be "companion"; it is ${JSON.stringify(fences)}.`);
}

function keyOf({ key }: RecordRef, last: string): Item {
  const value = key[last] as { readonly S: string };
  return { ...key, [last]: { S: value.S + SUFFIX } };
}
