import { afterAll, beforeAll, expect, it } from "vitest";
import { describeOnDynamoDBLocal } from "../support/dynamodb-local.js";
import { ProcessScene } from "../support/process-scene.js";
import { type Cast, type Outcome, playSession } from "../support/session-scene.js";

const LOCKS = 200;
const RIVALS = 5;
// The number of locks shared by each rival with the next rival.
const WANTED_BY_TWO = 8;
const LEASE_MS = 20_000;
const POLL_MS = 1_000;
// A machine that stalls the holder for two thirds of a lease makes the holder lose the session before the kill.
const MOST_SCENES = 3;

const NAMES = Array.from({ length: LOCKS }, (_, index) => `a${index}`);

function wantedBy(rival: number): string[] {
  const first = (rival * LOCKS) / RIVALS;
  const indices = Array.from({ length: LOCKS / RIVALS + WANTED_BY_TWO }, (_, at) => first + at);
  return indices.map((index) => NAMES[index % LOCKS] ?? "");
}

const CAST: Cast = {
  names: NAMES,
  wanted: Array.from({ length: RIVALS }, (_, rival) => wantedBy(rival)),
  leaseMs: LEASE_MS,
  pollMs: POLL_MS,
  holdMs: 200,
  // The session has been renewed by then.
  waitingMs: 0.4 * LEASE_MS,
};

/** Whether the machine gave the holder no time to renew, or to move its locks; no other cause is an excuse. */
const wasHindered = ({ isWhole, losses }: Outcome): boolean =>
  !isWhole && losses.every((reason) => ["expired", "session-ended"].includes(reason));

describeOnDynamoDBLocal("200 locks on the session of a killed process", (endpoint) => {
  const outcomes: Outcome[] = [];
  let outcome: Outcome;

  beforeAll(async () => {
    do {
      const scene = await ProcessScene.open(endpoint());
      outcome = await playSession(scene, CAST).finally(() => scene.close());
      outcomes.push(outcome);
    } while (wasHindered(outcome) && outcomes.length < MOST_SCENES);
  }, 150_000);
  afterAll(() => {
    const hindered = outcomes.filter(wasHindered).length;
    if (hindered > 0) console.warn(`In ${hindered} scenes the machine hindered the holder.`);
  });

  it("never have two holders", () => {
    for (const history of outcomes.flatMap(({ histories }) => histories)) {
      for (const [index, hold] of history.entries()) {
        const next = history[index + 1];
        if (next !== undefined) expect(hold.believedMs).toBeLessThan(next.grantedMs);
      }
    }
  });

  it("are all held until the kill", () => {
    expect(outcome.isWhole).toBe(true);
    const lasts = outcome.histories.map(([first]) => first?.believedMs ?? Number.NaN);
    expect(outcome.killedMs - Math.min(...lasts)).toBeLessThan(LEASE_MS / 2);
  });

  it("are all taken by five rivals, each with the next fence, and then by the waiters behind", () => {
    const { histories, rivals } = outcome;
    const sizes = histories.map(({ length }) => length);
    expect(sizes.filter((size) => size === 2)).toHaveLength(LOCKS - RIVALS * WANTED_BY_TWO);
    expect(sizes.filter((size) => size === 3)).toHaveLength(RIVALS * WANTED_BY_TWO);
    for (const history of histories) {
      const first = history[0]?.fence ?? 0n;
      expect(history.map(({ fence }) => fence)).toEqual(
        history.map((_, index) => first + BigInt(index)),
      );
    }
    expect(rivals.map(({ errors }) => errors)).toEqual(rivals.map(() => ""));
  });

  it("are available after exactly one write, which ends the session", () => {
    const { rivals, looks } = outcome;
    const wrote = rivals.flatMap(({ said }) => said.filter(({ event }) => event === "wrote"));
    const answers = wrote.map(({ answer }) => answer);
    expect(answers.filter((answer) => answer === "applied")).toHaveLength(1);
    // A second write at the same moment is refused, once.
    expect(answers.length).toBeLessThanOrEqual(RIVALS);
    expect(looks.isEnded).toBe(true);
  });

  // And not later than 1.1 leases and a poll: on virtual time, in the tests of the end of a session.
  it("are not taken before a lease after the last renewal", () => {
    const { histories, looks } = outcome;
    const grants = histories.map(([, second]) => second?.grantedMs ?? Number.NaN);
    expect(Math.min(...grants) - looks.beforeLastRenewalMs).toBeGreaterThan(LEASE_MS);
  });
});
