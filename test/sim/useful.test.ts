import { describe, expect, it } from "vitest";
import { planOf } from "../../verification/sim/plan.js";
import { simulate, simulateWorld } from "../../verification/sim/simulation.js";
import { WORLD_KINDS } from "../../verification/sim/world/traits.js";

/** What the runs of the simulations must contain: without faults and operations they would hold every invariant, too. */

/** The events that two runs of each kind must contain together. */
const NEEDED = [
  ...["granted", "granted together", "acted", "released", "lost", "guarded", "place", "queue"],
  ...["permits", "permit", "imported"],
  ...["exported", "imports", "import given up", "asked", "forces", "obeyed", "occurrence"],
  ...["session row", "session kept"],
];

describe("processes with every operation on the same names, under faults,", () => {
  // The seeds are fixed: an obeyed request occurs in one of five runs, so 14 fresh runs may lack it by chance.
  it("use every operation of the library in two runs of each kind", async () => {
    const missing = new Set(NEEDED);
    for (let seed = 0; seed < 2 * WORLD_KINDS.length && missing.size > 0; seed += 1) {
      const kind = WORLD_KINDS[seed % WORLD_KINDS.length];
      const { history } = await simulateWorld(seed, 60_000, kind);
      for (const event of history) missing.delete(event.kind);
    }
    expect([...missing]).toEqual([]);
  }, 340_000);
});

describe("the plans", () => {
  /** The kinds of faults in each of the first runs of a kind. */
  async function* faultsOf(kind: string, most = 6): AsyncGenerator<string[]> {
    let runs = 0;
    for (let seed = 1; runs < most; seed += 1) {
      if (planOf(seed, 60_000).kind !== kind) continue;
      runs += 1;
      const { faults } = await simulate(seed, 60_000);
      yield Object.keys(faults).filter((fault) => (faults[fault] ?? 0) > 0);
    }
  }

  it("inject every kind of fault", async () => {
    const missing = new Set(EVERY_FAULT);
    for (const kind of ["crowd", "duel", "ages", "deleted", "snapshot"]) {
      for await (const faults of faultsOf(kind)) for (const fault of faults) missing.delete(fault);
    }
    for await (const faults of faultsOf("sessions", 48)) {
      for (const fault of faults) missing.delete(fault);
      if (missing.size === 0) break;
    }
    expect([...missing]).toEqual([]);
  }, 120_000);

  it("inject no fault into a calm run", async () => {
    const ends = "clocks at an end of the drift bound";
    for await (const faults of faultsOf("calm")) {
      expect(faults.filter((fault) => fault !== ends)).toEqual([]);
    }
  }, 30_000);
});

const EVERY_FAULT = [
  "request-lost",
  "response-lost",
  "response-lost-and-retried",
  "applied-late",
  "duplicated",
  "reordered",
  "delayed",
  "throttled",
  "conflict",
  "stale",
  "killed",
  "paused",
  "suspended",
  "frozen with all clocks",
  "monotonic clock stood still",
  "resumed, timers first",
  "resumed, I/O first",
  "wall clock stepped",
  "wall clock stepped back",
  "rate of the clocks changed",
  "clocks at an end of the drift bound",
  "cut off: every request lost",
  "cut off: every response lost",
  "slow, then cut off",
  "outage of the table",
  "days passed",
  "deleted by TTL",
  "deleted by hand",
  "session deleted by hand",
  "answer lost: a session is made",
  "answer lost: a session is renewed",
  "answer lost: a move to a session",
  "answer lost: a session is ended by a rival",
  "answer lost: an absent session is entombed",
  "answer lost: a session is closed",
];
