import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { changedHashes, type Hashes } from "../../verification/sim/hashes.js";
import { planOf } from "../../verification/sim/plan.js";
import { simulate } from "../../verification/sim/simulation.js";

// Uses fresh seeds at every run, and prints failing seeds; a failing seed becomes a regression below.
const FROM = Number(process.env["HOLDFAST_SIM_FROM"] ?? Math.floor(Math.random() * 1e9));
const SEEDS = Number(process.env["HOLDFAST_SIM_SEEDS"] ?? 60);
const AT_ONCE = 10;

const recorded = JSON.parse(
  readFileSync(new URL("../../verification/sim/hashes.json", import.meta.url), "utf8"),
) as Hashes;

describe("the core in simulated time, under faults", () => {
  it(`holds every invariant for ${SEEDS} fresh seeds from ${FROM}`, async () => {
    let grants = 0;
    let onSessions = 0;
    let next = FROM;
    const run = async (): Promise<void> => {
      while (next < FROM + SEEDS) {
        const seed = next++;
        const outcome = await simulate(seed, 60_000);
        grants += outcome.grants;
        onSessions += outcome.history.filter(
          (event) => event.kind === "kept" && event.session,
        ).length;
        expect(outcome.violations, `npm run sim -- --minutes 1 --seed ${seed}`).toEqual([]);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, run));
    // A simulation without events would hold every invariant too.
    expect(grants).toBeGreaterThan(SEEDS * 10);
    expect(onSessions).toBeGreaterThan(SEEDS);
  }, 120_000);

  it("gives the recorded histories (npm run sim:hashes)", async () => {
    expect(recorded.seeds).toHaveLength(20);
    expect(new Set(recorded.seeds.map(({ kind }) => kind)).size).toBe(9);
    expect(await changedHashes(recorded)).toEqual([]);
  }, 120_000);

  it("gives the same history beside concurrent runs", async () => {
    const [alone] = recorded.seeds;
    const beside = await Promise.all(
      [alone?.seed ?? 0, 7, 8].map((seed) => simulate(seed, 60_000)),
    );
    expect(beside[0]?.hash).toBe(alone?.hash);
    expect(beside[1]?.hash).not.toBe(beside[2]?.hash);
  }, 60_000);
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
    for (const fault of await faultsOf("sessions", 1, 24)) seen.add(fault);
    expect(EVERY_FAULT.filter((fault) => !seen.has(fault))).toEqual([]);
  }, 60_000);

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
