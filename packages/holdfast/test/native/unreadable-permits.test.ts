import { describe, expect, it } from "vitest";
import { expectError } from "../../../../test/support/errors.js";
import { inWorld } from "../../../../test/support/world.js";
import { semaphore } from "../../src/index.js";
import type { Item } from "../../src/platform/table.js";

const KEY = { pk: { S: "semaphore#s" }, sk: { S: "lease" } };
const DATES = { dates: (trueMs: number) => Math.floor(trueMs / 1_000) * 1_000 };

type Members = Readonly<Record<string, object>>;

/** The record of a semaphore with one permit, changed as if another program had written it. */
async function changed(change: (item: Item, permit: string, members: Members) => object) {
  const { world, locks } = inWorld({}, DATES);
  const limited = semaphore(locks, "s", { permits: 3 });
  const { holder } = await world.until(limited.acquire());
  const item = world.table.item(KEY) ?? {};
  const permit = `permit#${holder}`;
  const members = (item[permit] as unknown as { readonly M: Members }).M;
  world.table.putItem(KEY, change(item, permit, members) as Item);
  return { world, semaphore: limited, before: JSON.stringify(world.table.item(KEY)) };
}

// No condition of a write can sum permits: where `used` leaves room, DynamoDB applies the grant before the client sees this.
describe("the record of a semaphore that another program has changed", () => {
  it.each<readonly [string, (item: Item, permit: string, members: Members) => object, string]>([
    [
      "names a single holder",
      (item) => ({ ...item, holder: { S: "h" }, leaseMs: { N: "30000" } }),
      "names a single holder",
    ],
    [
      "has less in use than its permits weigh",
      (item) => ({ ...item, used: { N: "0" } }),
      "has permits of weight 4, and `used` is 3",
    ],
    [
      "has more in use than its permits weigh",
      (item) => ({ ...item, used: { N: "2" } }),
      "has permits of weight 1, and `used` is 2",
    ],
    [
      "has a permit without weight",
      (item, permit, members) => ({
        ...item,
        [permit]: { M: { ...members, weight: { N: "0" } } },
        used: { N: "0" },
      }),
      "has a permit that cannot be read",
    ],
    [
      "has a permit of negative weight",
      (item, permit, members) => ({
        ...item,
        [permit]: { M: { ...members, weight: { N: "-1" } } },
        used: { N: "-1" },
      }),
      "has a permit that cannot be read",
    ],
    [
      "has a permit whose lease has no length",
      (item, permit, members) => ({
        ...item,
        [permit]: { M: { ...members, leaseMs: { N: "0" } } },
      }),
      "has a permit that cannot be read",
    ],
    [
      "has a permit without a holder",
      (item, _permit, members) => ({
        ...item,
        "permit#": { M: members },
        "fence#": { N: "7" },
        used: { N: "2" },
      }),
      "has a permit that cannot be read",
    ],
  ])("is refused if it %s", async (_, change, found) => {
    const { world, semaphore } = await changed(change);
    const trying = semaphore.tryAcquire({ weight: 3 });
    const error = { code: "foreign-record", lockName: "s", mentions: [found] } as const;
    await world.until(expectError(trying, error));
  });

  it("is left as it is while `used` leaves no room", async () => {
    const { world, semaphore, before } = await changed((item) => ({ ...item, used: { N: "2" } }));
    const trying = semaphore.tryAcquire({ weight: 3 });
    await world.until(expectError(trying, { code: "foreign-record", lockName: "s" }));
    await world.time.advance(1_000);
    expect(JSON.stringify(world.table.item(KEY))).toBe(before);
  });

  it("loses the permit that DynamoDB granted before the client saw the change", async () => {
    const { world, semaphore } = await changed((item) => ({ ...item, used: { N: "0" } }));
    const trying = semaphore.tryAcquire({ weight: 3 });
    const error = {
      code: "foreign-record",
      lockName: "s",
      mentions: ["undoes the claim"],
    } as const;
    await world.until(expectError(trying, error));
    await world.time.advance(1_000);
    const item = world.table.item(KEY) ?? {};
    expect(Object.keys(item).filter((name) => name.startsWith("permit#"))).toHaveLength(1);
    expect(item["used"]).toEqual({ N: "0" });
  });

  it("ends a wait, and says that nothing was written", async () => {
    const { world, locks } = inWorld({}, DATES);
    const limited = semaphore(locks, "s", { permits: 1 });
    await world.until(limited.acquire());
    const waiting = expectError(limited.acquire({ wait: Number.POSITIVE_INFINITY }), {
      ...{ code: "foreign-record", lockName: "s", mentions: ["Nothing was written"] },
    });
    await world.time.advance(5_000);
    world.table.putItem(KEY, { ...world.table.item(KEY), used: { N: "2" } });
    await world.until(waiting);
  });
});
