import type { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { CliWorld } from "../../packages/cli/test/support.js";
import {
  awsLockClient,
  dynamolock,
  type LockFormat,
  lockClientFailOpen,
} from "../../packages/formats/src/index.js";
import { Holdfast, mutex } from "../../packages/holdfast/src/index.js";
import type { DriverName } from "../../scripts/lib/interop-drivers.mjs";
import { describeOnDynamoDBLocal } from "../support/dynamodb-local.js";
import { freshTable, sdkClient } from "../support/sdk.js";
import { Driver } from "./driver.js";
import type { Seen } from "./seen.js";
import { createForeignTable, KEYS } from "./tables.js";

/** Tests outside the scenes of `play.ts`: the command line, fences, and observations, beside the original clients. */

const LEASES = { leaseMs: 2_000, beatMs: 500 };

const besides = (format: DriverName, name: string): Seen => ({
  ...{ format, driver: format, row: `besides: ${name}` },
  leftOut: [],
});

const KEPT = { observations: "companion" } as const;
const OBSERVING = {
  "aws-lock-client": awsLockClient(KEPT) as LockFormat,
  dynamolock: dynamolock(KEPT) as LockFormat,
  "lock-client-fail-open": lockClientFailOpen(KEPT) as LockFormat,
} as const;

const pause = (ms: number) => new Promise((resolve) => setTimeout(resolve, ms));

function holdOf({ hold }: { readonly hold?: string }): string {
  if (hold === undefined) throw new Error("It was not granted.");
  return hold;
}

describeOnDynamoDBLocal("beside the originals", (endpoint) => {
  let client: DynamoDBClient;
  let world: CliWorld;
  beforeAll(async () => {
    client = sdkClient(endpoint());
    world = await CliWorld.start({ spawning: true });
  });
  afterAll(async () => {
    await world.close();
    client.destroy();
  });

  describe.each(["aws-lock-client", "dynamolock"] as const)("%s", (format) => {
    const openings = { ...LEASES, ...KEYS[format] };

    it("the command line shows and awaits the client's locks, and the client awaits ours", async ({
      task,
    }) => {
      task.meta.seen = besides(format, task.name);
      const table = freshTable();
      await createForeignTable(client, table, format);
      const env = {
        HOLDFAST_ENDPOINT: endpoint(),
        HOLDFAST_TABLE: table,
        HOLDFAST_FORMAT: format,
      };
      const theirs = await Driver.open(format, { endpoint: endpoint(), table, ...openings });
      try {
        const hold = holdOf(await theirs.acquire({ name: "a", wait: false, data: "theirs" }));
        const listed = await world.run(["ls", "--json"], env);
        const [lock] = listed.stdout
          .trim()
          .split("\n")
          .map((line) => JSON.parse(line));
        expect(lock).toMatchObject({ name: "a", state: "held", leaseMs: LEASES.leaseMs });
        expect((await world.run(["inspect", "a"], env)).stdout).toMatch(/^data +theirs$/m);
        const refused = await world.run(["lock", "a", "--wait", "0", "--", "true"], env);
        expect(refused.status).toBe(75);
        const leading = world.start(
          ["elect", "a", "--poll", "200ms", "--", "sh", "-c", "echo leads; sleep 60"],
          env,
        );
        await new Promise((resolve) => setTimeout(resolve, 1.5 * LEASES.leaseMs));
        expect(await theirs.held(hold)).toBe(true);
        expect(await theirs.release(hold)).toBe(true);
        await leading.printed("leads");
        expect(await theirs.acquire({ name: "a", wait: false })).toMatchObject({ granted: false });
        leading.kill("SIGTERM");
        await leading.result;
        expect(await theirs.acquire({ name: "a", wait: false })).toMatchObject({ granted: true });
      } finally {
        await theirs.kill();
      }
    });
  });

  it.each(["aws-lock-client", "dynamolock", "lock-client-fail-open"] as const)(
    "our processes that never watch take over from a killed client, and never from a live one, by observations: %s",
    async (name) => {
      const table = freshTable();
      await createForeignTable(client, table, name);
      const opening = { endpoint: endpoint(), table, ...LEASES, ...KEYS[name] };
      // The package has no option for a wait, and does not tell whether it holds a lock.
      const isPackage = name === "lock-client-fail-open";
      const once = { name: "a", ...(isPackage ? { retries: 0 } : { wait: false as const }) };
      const open = () => Driver.open(name, { ...opening, beats: true });
      const fresh = () =>
        new Holdfast({
          ...{ client, table, lease: "2s", maxClockError: "1s" },
          format: OBSERVING[name] as LockFormat<never>,
        });
      const first = await open();
      const hold = holdOf(await first.acquire(once));
      for (let tries = 0; tries < 12; tries += 1) {
        await using locks = fresh();
        expect(await mutex(locks, "a" as never).tryAcquire()).toBeNull();
        await pause(500);
      }
      if (!isPackage) expect(await first.held(hold)).toBe(true);
      await first.kill();
      await using dead = fresh();
      expect(await mutex(dead, "a" as never).tryAcquire()).toBeNull();
      await pause(1.02 * LEASES.leaseMs + 1_000 + 2_200);
      const second = await open();
      try {
        await using locks = fresh();
        const lease = await mutex(locks, "a" as never).tryAcquire();
        expect(lease?.isHeld).toBe(true);
        expect(await second.acquire(once)).toMatchObject({ granted: false });
        await lease?.release();
        const granted = holdOf(await second.acquire(once));
        await second.release(granted);
      } finally {
        await second.kill();
      }
    },
  );

  it("the Java client lists the observations beside its records", async () => {
    const table = freshTable();
    await createForeignTable(client, table, "aws-lock-client");
    const opening = { endpoint: endpoint(), table, ...LEASES, ...KEYS["aws-lock-client"] };
    const theirs = await Driver.open("aws-lock-client", opening);
    await using locks = new Holdfast({ client, table, format: awsLockClient(KEPT) });
    try {
      await theirs.acquire({ name: "a", wait: false });
      expect(await mutex(locks, "a").tryAcquire()).toBeNull();
      expect(await theirs.list()).toHaveLength(2);
    } finally {
      await theirs.kill();
    }
  });

  it("our fences grow despite writes and deletions of the Java client, which lists the companions", async ({
    task,
  }) => {
    task.meta.seen = besides("aws-lock-client", task.name);
    const table = freshTable();
    await createForeignTable(client, table, "aws-lock-client");
    const theirs = await Driver.open("aws-lock-client", {
      endpoint: endpoint(),
      table,
      ...LEASES,
      ...KEYS["aws-lock-client"],
    });
    const format = awsLockClient({ fences: "companion" });
    await using locks = new Holdfast({ client, table, format, lease: "2s" });
    try {
      const fences: bigint[] = [];
      for (const release of [{ delete: true }, { delete: false }]) {
        const lease = await mutex(locks, "a").acquire();
        fences.push(lease.fence);
        await lease.release();
        const hold = holdOf(await theirs.acquire({ name: "a", wait: false }));
        expect(await theirs.release(hold, release)).toBe(true);
      }
      const last = await mutex(locks, "a").acquire();
      fences.push(last.fence);
      const [first = 0n] = fences;
      expect(fences).toEqual([first, first + 1n, first + 2n]);
      expect(await theirs.list()).toHaveLength(2);
      expect(await theirs.acquire({ name: "a", wait: false })).toMatchObject({ granted: false });
    } finally {
      await theirs.kill();
    }
  });
});
