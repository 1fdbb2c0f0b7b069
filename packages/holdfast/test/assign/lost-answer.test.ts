import { expect, it } from "vitest";
import { World } from "../../../../test/support/world.js";
import { assign } from "../../src/assign/index.js";
import type { Lease } from "../../src/index.js";

it("one lost answer to the write of a member's row is no outage", async () => {
  const world = new World({ dates: (ms) => Math.floor(ms / 1_000) * 1_000 });
  const a = world.inhabitant();
  let writes = 0;
  a.network.script((request) => {
    if (request.kind !== "write") return undefined;
    if (!JSON.stringify(request.write.key).includes("member/")) return undefined;
    writes += 1;
    return writes === 2 ? { fault: "response-lost" } : undefined;
  });
  const run = (_: string, { signal }: Lease) =>
    new Promise<void>((resolve) =>
      signal.addEventListener("abort", () => resolve(), { once: true }),
    );
  const member = assign(a.locks, "g", { names: ["n1", "n2"], owner: "a", run });
  await world.until(member.start());
  await world.time.advance(600_000);
  expect(writes).toBeGreaterThan(1);
  expect(a.reported).toEqual([]);
  await world.until(member.stop());
});
