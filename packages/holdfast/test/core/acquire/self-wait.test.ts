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
  expect(own.message).toContain(
    "this process itself holds it. A call inside run() needs mutex(client, name, " +
      '{ reentrant: "context" }) in both places; else release the first lease.',
  );
  // The option by the object does not help two objects, so nobody who has it is told to use it.
  const object = () => mutex(mine.locks, "k3", { reentrant: true });
  const nested = await refusalOf(object().run(() => object().acquire({ wait: "3s" })));
  expect(nested.message).toContain("this process itself holds it");
  expect(nested.message).not.toContain("reentrant: true");
  const both = ["k1", "k2"];
  const several = await refusalOf(all(mine.locks, both).acquire({ wait: "3s" }));
  expect(several.message).toContain('this process itself holds "k2"');
  const other = await refusalOf(all(theirs.locks, both).acquire({ wait: "3s" }));
  expect(other.message).toContain(' holds "k2"');
  expect(other.message).not.toContain("itself");
});
