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
    const seen = new Set<string>();
    for (let seed = 0; seed < 2 * WORLD_KINDS.length; seed += 1) {
      const kind = WORLD_KINDS[seed % WORLD_KINDS.length];
      const { history } = await simulateWorld(seed, 60_000, kind);
      for (const event of history) seen.add(event.kind);
    }
    expect(NEEDED.filter((needed) => !seen.has(needed))).toEqual([]);
  }, 340_000);
});

describe("the plans", () => {
  const faultsOf = async (kind: string, from: number, most = 6): Promise<Set<string>> => {
    const seen = new Set<string>();
    let runs = 0;
    for (let seed = from; runs < most; seed += 1) {
      if (planOf(seed, 60_000).kind !== kind) continue;
      runs += 1;
      const { faults } = await simulate(seed, 60_000);
      for (const [fault, times] of Object.entries(faults)) if (times > 0) seen.add(fault);
    }
    return seen;
  };

  it("inject every kind of fault", async () => {
    const seen = new Set<string>();
    for (const kind of ["crowd", "duel", "ages", "deleted", "snapshot"]) {
      for (const fault of await faultsOf(kind, 1)) seen.add(fault);
    }
    for (const fault of await faultsOf("sessions", 1, 48)) seen.add(fault);
    expect(EVERY_FAULT.filter((fault) => !seen.has(fault))).toEqual([]);
  }, 120_000);

  it("inject no fault into a calm run", async () => {
    const ends = "clocks at an end of the drift bound";
    expect([...(await faultsOf("calm", 1))].filter((fault) => fault !== ends)).toEqual([]);
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
