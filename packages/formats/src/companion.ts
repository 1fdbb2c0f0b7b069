/**
 * Fences for a format without fences: a counter in an item beside the record, the lock's _companion_. Its key
 * is the record's key with `#holdfast-fence` after the last part. Peers neither read nor write the companion, so
 * the counter survives their grants, which replace the record, and their releases, which delete the record.
 *
 * After a grant, the client increments the counter and then reads its own record with strong consistency. If
 * the record still names the grant, the counter's number is the grant's fence. If not, no grant uses the number.
 * The next grant of this library comes after this read, and so increments the counter later. So fences grow from
 * grant to grant of this library, without any clock.
 *
 * Not promised: grants of peers have no fence. A store refuses a former holder only after a later grant of this
 * library has brought a higher fence. The record itself contains no fence, so other clients cannot match a fence
 * with its grant.
 */
import type { FenceCounter, Item, LockName, RecordCodec, RecordRef } from "holdfast/internal";
import { assignFence, valueText } from "holdfast/internal";
import {
  any,
  COUNT_DIGITS,
  equals,
  foreignRef,
  invalid,
  isAbsent,
  isCount,
  nameIn,
  wholeIn,
} from "./foreign.js";

/** A kind of companion item. */
export interface CompanionKind {
  /** The end of the item's key. */
  readonly suffix: string;
  /** The name of the content, for messages. */
  readonly stores: string;
  /** Its own attributes: none can be a key attribute of the table. */
  readonly attributes: readonly string[];
}

const FENCE = "fence";

/** The companions that store fences. */
export const STORED_FENCES: CompanionKind = Object.freeze({
  suffix: "#holdfast-fence",
  stores: "fences",
  attributes: [FENCE],
});

// The bytes of a partition key, which is the name alone.
const KEY_BYTES = 2_048;

/** The largest number of bytes in a name, with room for the suffix of each of these companions. */
export function longestNameWith(companions: readonly CompanionKind[]): number {
  return KEY_BYTES - Math.max(0, ...companions.map(({ suffix }) => suffix.length));
}

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
    assign: assignFence,
    count: (ref: RecordRef, seed: bigint) => ({
      key: companionKey(ref, sk ?? pk, STORED_FENCES),
      // Any other item at the key belongs to another program: the counter leaves it alone.
      condition: any(isAbsent(pk), isCount(FENCE)),
      change: { set: { ...looks, [FENCE]: { incrementFrom: seed.toString() } }, remove: [] },
    }),
    numberIn: (item) => item && wholeIn(item, FENCE, COUNT_DIGITS + 1),
    isLast: (ref, number) => ({
      key: companionKey(ref, sk ?? pk, STORED_FENCES),
      condition: equals(FENCE, { N: number.toString() }),
    }),
  };
}

/** Returns the kind of companion whose name this is, or undefined for a lock's name. */
function companionKind(name: LockName, kinds: readonly CompanionKind[]): CompanionKind | undefined {
  const last = typeof name === "string" ? name : name[1];
  return kinds.find(({ suffix }) => last.endsWith(suffix));
}

/** How a format with these companions names its records and holders, and finds the records in a scan. */
export function namesWith(
  format: string,
  pk: string,
  sk: string | undefined,
  companions: readonly CompanionKind[],
): Pick<RecordCodec, "refOf" | "listing" | "holderOf"> {
  return {
    refOf(kind, lock) {
      const ref = foreignRef(format, kind, lock, pk, sk);
      checkNoCompanion(lock, companions);
      return ref;
    },
    listing: {
      nameOf(_kind, item) {
        const name = nameIn(item, pk, sk);
        return name !== undefined && companionKind(name, companions) ? undefined : name;
      },
      // The keys of a format share no prefix.
      prefixOf: (_kind, value) => (value === "" ? undefined : { attribute: pk, value }),
    },
    holderOf: (owner, id) => `${owner}/${id}`,
  };
}

function checkNoCompanion(name: LockName, kinds: readonly CompanionKind[]): void {
  const kind = companionKind(name, kinds);
  if (kind === undefined) return;
  throw invalid(
    `The name of a lock must not end in "${kind.suffix}": items with this suffix store ${kind.stores}.`,
  );
}

/** Throws `invalid-argument` for a value of the option that is neither `"companion"` nor undefined. */
export function checkCompanion(option: "fences" | "observations", value: unknown): void {
  if (value === undefined || value === "companion") return;
  throw invalid(`The option \`${option}\` must be "companion"; it is ${valueText(value)}.`);
}

/** Returns the key of a record's companion. `last`: the last key attribute. */
export function companionKey({ key }: RecordRef, last: string, { suffix }: CompanionKind): Item {
  const value = key[last] as { readonly S: string };
  return { ...key, [last]: { S: value.S + suffix } };
}
