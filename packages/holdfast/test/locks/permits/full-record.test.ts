import { expect, it } from "vitest";
import { inWorld } from "../../../../../test/support/world.js";
import { sizeBytes } from "../../../../testing/src/table/capacity.js";
import { mutex, openSession, semaphore } from "../../../src/index.js";

const KEY = { pk: { S: "semaphore#s" }, sk: { S: "lease" } };

it("a session survives a withdrawal for which the record has no room", async () => {
  const { world, locks, network } = inWorld({ lease: "3s" });
  const session = await world.until(openSession(locks));
  const other = await world.until(mutex(locks, "other", { session }).acquire());
  const permit = await world.until(semaphore(locks, "s", { permits: 5, session }).acquire());
  const item = world.table.item(KEY) ?? {};
  // As with the permits of some 2,000 holders: there is no room for a mark.
  const room = 400 * 1024 - 40 - sizeBytes({ ...KEY, ...item, filler: { S: "" } });
  world.table.putItem(KEY, { ...item, filler: { S: "x".repeat(room) } });
  network.script((request) =>
    request.kind === "write" && "limit" in request.write.change.set
      ? { fault: "request-lost" }
      : undefined,
  );
  const call = semaphore(locks, "s", { permits: 5, session }).acquire({ wait: "500ms" });
  await world.until(call.catch(() => undefined));
  network.clear();
  await world.time.advance(60_000);
  expect([session.isHeld, other.isHeld, permit.isHeld]).toEqual([true, true, true]);
});
