import type { QueueEvent } from "./first-in-queue.js";

/** What the referee notes of semaphores, beside the history of leases. */

/** A permit in a record, as the table answered it. */
export interface SeenPermit {
  readonly fence: bigint;
  readonly weight: number;
  readonly owner: string;
}

/** The record of a semaphore in an answer of the table. */
export interface SeenSemaphore {
  readonly name: string;
  readonly fence: bigint;
  readonly limit: number;
  readonly used: number;
  readonly permits: readonly SeenPermit[];
}

/** A check that found a permit held, after the stamp `from`. */
interface BelievedPermit {
  readonly kind: "held";
  readonly by: string;
  readonly name: string;
  readonly fence: bigint;
  readonly weight: number;
}

/** An observation between two stamps of the referee; see `order.ts`. */
export type PermitSighting = (
  | BelievedPermit
  | ({ readonly kind: "record" } & SeenSemaphore)
  | QueueEvent
) & {
  readonly from: number;
  readonly to: number;
  readonly atMs: number;
};

interface Value {
  readonly S?: string;
  readonly N?: string;
  readonly M?: Attributes;
}

interface Attributes {
  readonly [name: string]: Value | undefined;
}

const PREFIX = "semaphore#";
const PERMIT = "permit#";
const QUEUE = "queue#";

/** Returns the name of the semaphore with this key; undefined for keys of other kinds. */
export function semaphoreOf(key: Attributes | undefined): string | undefined {
  const pk = key?.["pk"]?.S;
  return pk?.startsWith(PREFIX) ? pk.slice(PREFIX.length) : undefined;
}

/** Returns the ticket of a place in the queue of a semaphore; undefined for keys of other kinds. */
export function ticketOf(key: Attributes | undefined): string | undefined {
  if (key?.["pk"]?.S?.startsWith(QUEUE) !== true) return undefined;
  const [kind, , ticket] = key["sk"]?.S?.split("/") ?? [];
  return kind === "semaphore" ? ticket : undefined;
}

/** Reads a semaphore's record, as independent of the library as the text of the specification. */
export function semaphoreIn(
  key: Attributes | undefined,
  record: Attributes | undefined,
): SeenSemaphore | undefined {
  const name = semaphoreOf(key);
  const fence = record?.["fence"]?.N;
  if (name === undefined || record === undefined || fence === undefined) return undefined;
  const permits = Object.entries(record).flatMap(([attribute, value]): SeenPermit[] => {
    if (!attribute.startsWith(PERMIT)) return [];
    const own = record[`fence#${attribute.slice(PERMIT.length)}`]?.N;
    const { weight, owner } = value?.M ?? {};
    return [{ fence: BigInt(own ?? -1), weight: Number(weight?.N), owner: owner?.S ?? "" }];
  });
  const number = (attribute: string): number => Number(record[attribute]?.N ?? 0);
  return {
    ...{ name, fence: BigInt(fence), permits },
    ...{ limit: number("limit"), used: number("used") },
  };
}
