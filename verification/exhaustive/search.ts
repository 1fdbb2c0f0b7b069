import { createHash } from "node:crypto";
import type { SeededRandom } from "../../packages/testing/src/time/seeded-random.js";
import type { Violation } from "../sim/history.js";
import { isStoodFor } from "./choices.js";
import type { KindName } from "./kinds.js";
import { nameOf, type Placement } from "./placement.js";
import { type Moment, run } from "./run.js";

/** What the search keeps of one run. */
export interface Found {
  readonly placement: Placement;
  readonly violations: readonly Violation[];
  readonly hash: string;
  readonly depth: number;
  readonly later: readonly Moment[];
  readonly costs: { readonly endMs: number; readonly requests: number };
}

/** Runs a placement for the search; `isLast`: one that no other extends. */
export async function found(placement: Placement, isLast: boolean): Promise<Found> {
  try {
    const { violations, hash, depth, later, costs } = await run(placement, isLast);
    return { placement, violations, hash, depth, later, costs };
  } catch (error) {
    const violations = [{ invariant: "error", atMs: 0, what: String(error) }];
    const costs = { endMs: 0, requests: 0 };
    return { placement, violations, hash: nameOf(placement), depth: 0, later: [], costs };
  }
}

/**
 * The placements with one fault more, each after all faults of this one. Unless `isWhole`, a choice for which another one
 * stands is only placed alone.
 */
function extended({ placement, later }: Found, isWhole: boolean): Placement[] {
  const { kind, placed } = placement;
  const isFirst = placed.length === 0;
  if (!isWhole && placed.some(({ choice }) => isStoodFor(choice))) return [];
  return later.flatMap(({ point, choices }) =>
    choices
      .filter((choice) => isWhole || isFirst || !isStoodFor(choice))
      .map((choice): Placement => ({ kind, placed: [...placed, { point, choice }] })),
  );
}

/**
 * Keeps one run of each state. Of two runs with equal traces every further fault has the same effects, so only one is
 * extended: the one whose last fault is the earlier, since its extensions contain those of the other.
 */
class Distinct {
  readonly #byHash = new Map<string, Found>();
  readonly #earlier = new Set<string>();

  add(one: Found): void {
    const key = `${one.placement.kind} ${one.hash}`;
    if (this.#earlier.has(key)) return;
    const known = this.#byHash.get(key);
    if (known === undefined || one.depth < known.depth) this.#byHash.set(key, one);
  }

  /** Returns the runs to extend, and begins the next level: runs with fewer faults stand for those of the next. */
  take(): Found[] {
    const all = [...this.#byHash.values()];
    for (const key of this.#byHash.keys()) this.#earlier.add(key);
    this.#byHash.clear();
    return all;
  }
}

/** A part of a search: one of so many, from 1, which together run every placement. */
export interface Share {
  readonly part: number;
  readonly of: number;
}

/** Whether a part of a search has the placements that extend this one. */
function isIn({ part, of }: Share, placement: Placement): boolean {
  const hash = createHash("sha1").update(nameOf(placement)).digest();
  return hash.readUInt32BE(0) % of === part - 1;
}

/** How much of the placements a search runs. */
interface Depth {
  readonly faults: number;
  readonly isWhole: boolean;
  /** Absent: all. */
  readonly share?: Share;
}

/** Runs placements, and calls back with each result. `isLast`: no other placements extend these. */
export type RunAll = (
  placements: readonly Placement[],
  isLast: boolean,
  onFound: (one: Found) => void,
) => Promise<void>;

/**
 * Runs random placements, level by level: of each kind so many, each of which extends one of the level before by a fault at a
 * random moment.
 */
export async function walkAll(
  kinds: readonly KindName[],
  { faults, walks }: { readonly faults: number; readonly walks: number },
  random: Pick<SeededRandom, "integer">,
  runAll: RunAll,
): Promise<void> {
  let next: readonly Placement[] = kinds.map((kind) => ({ kind, placed: [] }));
  for (let level = 0; level <= faults && next.length > 0; level += 1) {
    const isLast = level === faults;
    const drawn: Placement[] = [];
    await runAll(next, isLast, (one) => {
      // What a run with a violation leads to shows nothing more.
      if (isLast || one.violations.length > 0) return;
      const longer = extended(one, true);
      for (let left = level === 0 ? walks : 1; left > 0; left -= 1) {
        const placement = longer[random.integer(0, longer.length - 1)];
        if (placement !== undefined) drawn.push(placement);
      }
    });
    next = drawn;
  }
}

/**
 * Runs every placement of up to so many faults, level by level. A share has its part of the last level but one, and all of
 * the last level that extends this part.
 */
export async function searchAll(
  kinds: readonly KindName[],
  { faults, isWhole, share = { part: 1, of: 1 } }: Depth,
  runAll: RunAll,
): Promise<void> {
  const distinct = new Distinct();
  let next: readonly Placement[] = kinds.map((kind) => ({ kind, placed: [] }));
  for (let level = 0; level <= faults && next.length > 0; level += 1) {
    if (level > 0 && level === faults - 1) next = next.filter((one) => isIn(share, one));
    const isLast = level === faults;
    await runAll(next, isLast, (one) => {
      // Of the last level, which is by far the largest, nothing is kept.
      if (!isLast) distinct.add(one);
    });
    if (!isLast) next = distinct.take().flatMap((one) => extended(one, isWhole));
  }
}
