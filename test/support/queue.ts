import { type AcquireOptions, fairLock, type Holdfast } from "../../packages/holdfast/src/index.js";
import type { Item } from "../../packages/holdfast/src/platform/table.js";
import type { Inhabitant, World } from "./world.js";

export const NAME = "a";
export const FOR_EVER = Number.POSITIVE_INFINITY;

/** The queue entries in the table. */
export function entriesIn(world: World): Item[] {
  return world.table.items().filter((item) => sortKey(item).startsWith("ticket/"));
}

function sortKey(item: Item): string {
  const sk = item["sk"];
  return sk !== undefined && "S" in sk ? sk.S : "";
}

const TICKET_DIGITS = 38;

/** The key of an entry in the queue of `NAME`, for a ticket or any further text. */
export function entryKey(ticket: bigint | string) {
  const padded = ticket.toString().padStart(TICKET_DIGITS, "0");
  return { pk: { S: `queue#${NAME}` }, sk: { S: `ticket//${padded}` } };
}

/** The ticket of an entry. */
export function ticketOf(entry: Item | undefined): bigint {
  return BigInt(sortKey(entry ?? {}).split("/")[2] ?? "");
}

/** The grants in order, with fences, and whether two holders overlapped. */
export class Turns {
  readonly order: string[] = [];
  readonly fences: bigint[] = [];
  readonly grantedMs: number[] = [];
  readonly releasedMs: number[] = [];
  readonly #world: World;
  #holding = 0;
  wereTwo = false;

  constructor(world: World) {
    this.#world = world;
  }

  /** Takes the fair lock, holds the lock for `forMs`, and releases it. */
  async take(
    { locks, process }: Pick<Inhabitant, "locks" | "process">,
    who: string,
    options: AcquireOptions = {},
    forMs = 100,
  ): Promise<void> {
    const lock = fairLock(locks as Holdfast, NAME);
    const lease = await lock.acquire({ wait: FOR_EVER, ...options });
    this.#holding += 1;
    if (this.#holding > 1) this.wereTwo = true;
    this.order.push(who);
    this.fences.push(lease.fence);
    this.grantedMs.push(this.#world.time.nowMs);
    await new Promise((resolve) => process.timers.set(forMs, true, () => resolve(undefined)));
    this.#holding -= 1;
    await lease.release();
    this.releasedMs.push(this.#world.time.nowMs);
  }
}
