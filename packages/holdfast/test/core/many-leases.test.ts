import { describe, expect, it } from "vitest";
import { type Inhabitant, World } from "../../../../test/support/world.js";
import { mutex } from "../../src/index.js";
import { interrupt } from "../../src/requests/index.js";

const MANY = 300;
/** Of each lease, whatever the number of the others. */
const FEW = 10;

/** A process that holds many locks, and another one that holds as many others. */
async function setUp() {
  const world = new World({ dates: (trueMs) => trueMs });
  const [mine, rival] = [world.inhabitant(), world.inhabitant()];
  const take = ({ locks }: Inhabitant, what: string) =>
    world.until(
      Promise.all(Array.from({ length: MANY }, (_, at) => mutex(locks, `${what} ${at}`).acquire())),
    );
  await take(mine, "mine");
  await take(rival, "theirs");
  let looks = 0;
  for (const hold of mine.locks.parts.context.holds) {
    for (const key of ["ref", "held"] as const) {
      const value = hold[key];
      const get = () => {
        looks += 1;
        return value;
      };
      Object.defineProperty(hold, key, { get });
    }
  }
  return { world, mine, looks: () => looks };
}

describe("a process with many leases does not look at all of them", () => {
  it("for each lock that it does not get", async () => {
    const { world, mine, looks } = await setUp();
    const before = looks();
    const failed = Array.from({ length: MANY }, (_, at) =>
      mutex(mine.locks, `theirs ${at}`)
        .acquire({ wait: "2s" })
        .then(
          () => "granted",
          (error) => error.holder?.isOwn,
        ),
    );
    expect(await world.until(Promise.all(failed))).toEqual(Array(MANY).fill(false));
    expect(looks() - before).toBeLessThan(FEW * MANY);
  });

  it("for each claim that it rolls back", async () => {
    const { world, mine, looks } = await setUp();
    mine.network.script(() => ({ fault: "response-lost" }));
    const failed = Array.from({ length: MANY }, (_, at) =>
      mutex(mine.locks, `new ${at}`).acquire({ wait: "1s" }),
    );
    await world.until(Promise.allSettled(failed));
    mine.network.clear();
    const before = looks();
    await world.time.advance(9_000);
    expect(world.record("new 0")?.["holder"]).toBeUndefined();
    expect(looks() - before).toBeLessThan(FEW * MANY);
  });

  it("for each of its own holders that it interrupts", async () => {
    const { world, mine, looks } = await setUp();
    const before = looks();
    const asking = Array.from({ length: MANY }, (_, at) =>
      mutex(mine.locks, `mine ${at}`).acquire({ ifHeld: interrupt, wait: "5s" }),
    );
    const ended = Promise.allSettled(asking);
    await world.time.advance(4_000);
    expect(looks() - before).toBeLessThan(2 * FEW * MANY);
    await world.until(ended);
  });
});
