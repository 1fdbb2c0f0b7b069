import type { ElectionOptions, Transition } from "../../src/index.js";
import type { Inhabitant, InhabitantOptions, World } from "./world.js";

/** A candidate of a world, in a process of its own, and what it told. */
export interface Standing extends Inhabitant {
  readonly election: ReturnType<Inhabitant["locks"]["election"]>;
  /** Its transitions, by true time. */
  readonly told: (Transition & { readonly atMs: number })[];
}

export const NAME = "pool";

/** A process with one candidate for the name. */
export function candidate(
  world: World,
  options: ElectionOptions = {},
  inhabitant: InhabitantOptions = {},
): Standing {
  const made = world.inhabitant(inhabitant);
  const election = made.locks.election(NAME, options);
  const told: (Transition & { readonly atMs: number })[] = [];
  election.onTransition((transition) => told.push({ ...transition, atMs: world.time.nowMs }));
  return { ...made, election, told };
}

/** A body that does nothing but lead until it is told to end. */
export function untilTold(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    signal.addEventListener("abort", () => resolve(), { once: true });
  });
}

/** Leads, again and again; what it rejects with is kept for the test. */
export function leads(one: Standing): { error: unknown } {
  const state: { error: unknown } = { error: undefined };
  one.election.lead(untilTold).catch((error: unknown) => {
    state.error = error;
  });
  return state;
}

/** The record of the election, as it is. */
export function electionRecord(world: World, name = NAME) {
  return world.table.item({ pk: { S: `leader#${name}` }, sk: { S: "lease" } });
}

/** Everything that all of them told, in order. */
export function toldBy(candidates: readonly Standing[]) {
  return candidates.flatMap(({ told }) => told).sort((a, b) => a.atMs - b.atMs);
}
