import type { Capability } from "../core/record/capability.js";
import type { Item, Query, Write } from "../platform/table.js";
import { QUEUE_PARTITION, queueKey } from "./native.js";
import { all, equals, expiresAt, isAbsent, isPresent, keysOf, n, s } from "./native-conditions.js";
import { numberIn, stringIn } from "./native-values.js";

/**
 * The rows of the members of a group: at `pk` = `queue#` and the group, and `sk` = `member/` and the member's session.
 *
 * Not promised: that a row's member lives. Only the record of its session shows that. A row grants nothing and excludes
 * nobody: it only tells who shares the work, so a missing, late or wrong row delays balance, and nothing else.
 *
 * | attribute | type | meaning |
 * | --- | --- | --- |
 * | `v` | N | the layout, 1; a member ignores the rows of any other |
 * | `owner` | S | a readable label |
 * | `weight` | S | the share of the work, as a decimal number |
 * | `leaseMs` | N | the length of the member's session |
 * | `count` | N | how many names the member has |
 * | `freed` | N | how often the member gave up a name |
 * | `names` | S | a digest of the names that the member knows |
 * | `leaving` | BOOL | the member takes no further names |
 * | `expiresAt` | N | TTL in seconds, at least seven days after the write |
 */
export interface MemberRow {
  /** The member's session. */
  readonly session: string;
  readonly owner: string;
  readonly weight: number;
  readonly leaseMs: number;
  readonly count: number;
  readonly freed: number;
  readonly names: string;
  readonly isLeaving: boolean;
  /** TTL in seconds since 1970. */
  readonly expiresAt: number;
}

/** Reads and composes the rows of groups. */
interface MemberRows {
  /** The range of all rows of a group. */
  all(group: string): Pick<Query, "partition" | "sort">;
  put(group: string, row: Omit<MemberRow, "expiresAt">, wallMs: number): Write;
  remove(group: string, session: string): Write;
  /** Returns the row in an item, or undefined if the item is no row that this version can read. Pure. */
  rowIn(item: Item): MemberRow | undefined;
  /** The group of the row in an item. */
  groupIn(item: Item): string;
}

const PREFIX = "member/";
// The character after the last of the prefix.
const BEYOND = "member0";

/** The rows of members. Beside the entries of queues, whose partition a policy lets a process query and delete from. */
export const MEMBERS: Capability<MemberRows> = {
  feature: "assignments",
  why: "its table has no rows for members",
  whyNative: "the rows of the members need a table with a sort key. See the option `keys`",
  of: (format) => {
    const { pk, sk } = keysOf(format) ?? {};
    return pk === undefined || sk == null ? undefined : memberRows(pk, sk);
  },
};

function memberRows(pk: string, sk: string): MemberRows {
  const keyOf = (group: string, session: string): Item => ({
    [pk]: s(queueKey(group)),
    [sk]: s(`${PREFIX}${session}`),
  });
  return {
    all: (group) => ({
      partition: { attribute: pk, value: queueKey(group) },
      sort: { attribute: sk, from: PREFIX, to: BEYOND },
    }),
    put: (group, row, wallMs) => ({
      key: keyOf(group, row.session),
      condition: { kind: "any", of: [isAbsent(pk), isPresent(pk)] },
      change: {
        set: {
          v: n(1),
          owner: s(row.owner),
          weight: s(String(row.weight)),
          leaseMs: n(row.leaseMs),
          count: n(row.count),
          freed: n(row.freed),
          names: s(row.names),
          leaving: { BOOL: row.isLeaving },
          expiresAt: expiresAt(wallMs, row.leaseMs),
        },
        remove: [],
      },
    }),
    remove: (group, session) => ({
      key: keyOf(group, session),
      condition: all(isPresent(pk), equals("v", n(1))),
      change: { set: {}, remove: [] },
      as: "delete",
    }),
    rowIn(item) {
      const key = stringIn(item, sk);
      const weight = Number(stringIn(item, "weight"));
      const [leaseMs, count, freed, until] = ["leaseMs", "count", "freed", "expiresAt"].map(
        (name) => Number(numberIn(item, name) ?? -1n),
      ) as [number, number, number, number];
      if (numberIn(item, "v") !== 1n || !key?.startsWith(PREFIX)) return undefined;
      if (!(weight >= 0 && weight <= MOST_WEIGHT) || !(leaseMs > 0)) return undefined;
      const leaving = item["leaving"];
      return {
        session: key.slice(PREFIX.length),
        owner: stringIn(item, "owner") ?? "an unnamed member",
        ...{ weight, leaseMs, count, freed },
        names: stringIn(item, "names") ?? "",
        isLeaving: leaving !== undefined && "BOOL" in leaving && leaving.BOOL,
        expiresAt: until,
      };
    },
    groupIn: (item) => stringIn(item, pk)?.slice(QUEUE_PARTITION.length) ?? "",
  };
}

/** The largest weight of a member. */
export const MOST_WEIGHT = 1_000_000;
