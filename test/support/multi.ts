import type { FormatTypes } from "../../packages/holdfast/src/core/record/format-types.js";
import { type AcquireOptions, all, type Lease } from "../../packages/holdfast/src/index.js";
import type { SeededRandom } from "../../packages/testing/src/time/seeded-random.js";
import type { Inhabitant, World } from "./world.js";

export const FOR_EVER = Number.POSITIVE_INFINITY;

/** The grants of all holders, by the holders' own view. */
export class Holdings {
  /** Each grant: the holder, and the locks. */
  readonly order: string[] = [];
  /** For each name the fences of its grants, in order. */
  readonly fences = new Map<string, bigint[]>();
  /** Names with two simultaneous holders. */
  readonly shared: string[] = [];
  /** Locks held without the rest of their multi-lock, by the records. */
  readonly partial: string[] = [];
  readonly waitedMs: number[] = [];
  readonly #world: World;
  readonly #held = new Set<string>();

  constructor(world: World) {
    this.#world = world;
  }

  /** Takes several locks, holds them for `forMs`, and releases them. */
  async take(
    { locks, process }: Pick<Inhabitant, "locks" | "process">,
    names: readonly string[],
    who: string,
    options: Pick<
      AcquireOptions,
      "wait" | "poll" | "onPlaceExpired" | "lease" | "renew" | "signal"
    > = {},
    forMs = 100,
  ): Promise<void> {
    const fromMs = this.#world.time.nowMs;
    const lease = await all(locks, names).acquire({ wait: FOR_EVER, ...options });
    this.waitedMs.push(this.#world.time.nowMs - fromMs);
    this.order.push(who);
    this.#begin(lease);
    await new Promise((resolve) => process.timers.set(forMs, true, () => resolve(undefined)));
    for (const name of names) this.#held.delete(name);
    await lease.release();
  }

  #begin({ parts }: Lease<FormatTypes>): void {
    for (const { name, fence = 0n, holder: own } of parts) {
      if (this.#held.has(name)) this.shared.push(name);
      this.#held.add(name);
      this.fences.set(name, [...(this.fences.get(name) ?? []), fence]);
      const record = this.#world.record(name);
      const holder = record?.["holder"];
      const isHere = holder !== undefined && "S" in holder && holder.S === own;
      if (!isHere) this.partial.push(name);
      const shown = record?.["fence"];
      if (shown === undefined || !("N" in shown) || BigInt(shown.N) !== fence) {
        this.partial.push(`the fence of ${name}`);
      }
    }
  }
}

/** Three different names, in any order. */
export function threeOf(names: readonly string[], random: SeededRandom): string[] {
  const left = [...names];
  return Array.from({ length: 3 }, () => left.splice(random.integer(0, left.length - 1), 1)).flat();
}

/** Fences that do not grow. */
export function fencesOutOfOrder({ fences }: Holdings): string[] {
  return [...fences]
    .filter(([, values]) => values.some((fence, index) => fence <= (values[index - 1] ?? 0n)))
    .map(([name]) => name);
}
