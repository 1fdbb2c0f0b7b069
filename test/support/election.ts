import {
  type Election,
  type ElectionOptions,
  election,
  type LeadershipChange,
} from "../../packages/holdfast/src/election/index.js";
import type { Inhabitant, InhabitantOptions, World } from "./world.js";

/** A candidate of a world, in a separate process, with a list of transitions. */
export interface Standing extends Inhabitant {
  readonly election: Election;
  /** Its transitions, by true time. */
  readonly told: (LeadershipChange & { readonly atMs: number })[];
}

export const NAME = "pool";

/** A process with a single candidate for the name. */
export function candidate(
  world: World,
  options: ElectionOptions = {},
  inhabitant: InhabitantOptions = {},
): Standing {
  const made = world.inhabitant(inhabitant);
  const candidate = election(made.locks, NAME, options);
  const told: (LeadershipChange & { readonly atMs: number })[] = [];
  candidate.onTransition((transition) => told.push({ ...transition, atMs: world.time.nowMs }));
  return { ...made, election: candidate, told };
}

/** A callback of `lead()` that waits until its signal aborts. */
export function untilTold({ signal }: { readonly signal: AbortSignal }): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

/** Leads again and again; keeps a rejection for the test. */
export function leads(one: Standing): { error: unknown } {
  const state: { error: unknown } = { error: undefined };
  one.election.lead(untilTold).catch((error: unknown) => {
    state.error = error;
  });
  return state;
}

/** The current record of the election. */
export function electionRecord(world: World, name = NAME) {
  return world.table.item({ pk: { S: `leader#${name}` }, sk: { S: "lease" } });
}

/** The transitions of all candidates, in order. */
export function toldBy(candidates: readonly Standing[]) {
  return candidates.flatMap(({ told }) => told).sort((a, b) => a.atMs - b.atMs);
}
