import { expect, it } from "vitest";
import { World } from "../../../../../test/support/world.js";
import { all, type HoldfastError, mutex } from "../../../src/index.js";

it("reports a wait for the same process, with the name", async () => {
  const world = new World();
  const [mine, theirs] = [world.inhabitant(), world.inhabitant()];
  await world.until(mutex(mine.locks, "k2").acquire({ lease: "5m" }));
  const refusalOf = async (acquiring: Promise<unknown>): Promise<HoldfastError> => {
    const error = await world.until(acquiring.catch((caught: unknown) => caught));
    expect(error).toMatchObject({ code: "not-acquired" });
    return error as HoldfastError;
  };
  const own = await refusalOf(mutex(mine.locks, "k2").acquire({ wait: "3s" }));
  expect(own.message).toMatch(/this process itself holds it; a mutex is not reentrant/);
  const both = ["k1", "k2"];
  const several = await refusalOf(all(mine.locks, both).acquire({ wait: "3s" }));
  expect(several.message).toContain('this process itself holds "k2"');
  const other = await refusalOf(all(theirs.locks, both).acquire({ wait: "3s" }));
  expect(other.message).toContain(' holds "k2"');
  expect(other.message).not.toContain("itself");
});
