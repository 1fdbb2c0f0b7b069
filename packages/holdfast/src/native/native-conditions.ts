import type { Grant, Held, LeaseFormat } from "../core/record/format.js";
import type { Version } from "../core/record/record.js";
import type { AttributeValue, Condition, Increment } from "../platform/table.js";

/** The conditions and values that all native records share. */

export const LAYOUT = "1";

// TTL must not delete a live record, and the fence of a re-created record must start above its old value (R10).
// Seven days ensure both while no clock is wrong by more than two days. Three clocks count: of the client that
// seeded the fence, of the last writer of the TTL, and of the next claimer.
const RETENTION_MS = 7 * 24 * 3_600_000;

export const s = (value: string): AttributeValue => ({ S: value });
export const n = (value: Version | number): AttributeValue => ({ N: value.toString() });
export const isAbsent = (attribute: string): Condition => ({ kind: "absent", attribute });
export const isPresent = (attribute: string): Condition => ({ kind: "present", attribute });
export const equals = (attribute: string, value: AttributeValue): Condition => ({
  kind: "equals",
  attribute,
  value,
});
export const all = (...of: readonly Condition[]): Condition => ({ kind: "all", of });
export const any = (...of: readonly Condition[]): Condition => ({ kind: "any", of });

export const NEXT_VERSION: Increment = { incrementFrom: "0" };

// Every grant without a ticket requires an empty queue, also the grant of a mutex. Without this condition, a mutex
// would overtake the waiters in the queue.
const EMPTY_QUEUE = any(
  { kind: "same", attribute: "tail", as: "served" },
  all(isAbsent("tail"), isAbsent("served")),
);

// DynamoDB's numbers are exact to 38 digits. Increments of a number near the limit could make the record
// unreadable, and its name unusable for ever: the client refuses such a record before it writes anything.
export const TOO_LARGE = 10n ** 37n;

export const isNumber = (attribute: string): Condition => ({
  kind: "below",
  attribute,
  value: n(TOO_LARGE),
});

export const KNOWN = all(equals("v", n(1n)), isNumber("fence"), isNumber("version"));

/** The condition under which the queue lets a claim through. */
export function queueCondition({ passage }: Pick<Grant, "passage">): Condition[] {
  if (passage === undefined) return [EMPTY_QUEUE];
  if (passage.kind === "barge") return [];
  if (passage.kind === "asker") {
    // Without a number, this caller came after every asker that it will find.
    if (passage.number === undefined) return [];
    const later = { kind: "below", attribute: "asked", value: n(passage.number + 1n) } as const;
    return [any(isAbsent("asked"), later)];
  }
  if (passage.isNext) return [equals("served", n(passage.ticket - 1n))];
  const below = { kind: "below", attribute: "served", value: n(passage.ticket) } as const;
  return [any(isAbsent("served"), below)];
}

/** The TTL of a record with a lease of this length. */
export function expiresAt(wallMs: number, leaseMs: number): AttributeValue {
  return n(Math.ceil((wallMs + leaseMs + RETENTION_MS) / 1000));
}

/** When the lease was over, by the wall clock that set this TTL. */
export function overWallMs(expires: bigint | undefined): number | undefined {
  return expires === undefined ? undefined : Number(expires) * 1000 - RETENTION_MS;
}

/** The condition that the record of a lock still has this grant. */
export function heldCondition(held: Held): Condition {
  return all(equals("holder", s(held.holder)), equals("fence", n(held.fence)));
}

/** The key attributes of a native table; undefined for another format. */
export function keysOf(format: LeaseFormat): LeaseFormat["facts"]["schema"]["keys"] | undefined {
  return format.name === "native" ? format.facts.schema.keys : undefined;
}
