import { beforeEach, describe, expect, it } from "vitest";
import { expectError } from "../../../../test/support/errors.js";
import { type Inhabitant, World } from "../../../../test/support/world.js";
import { awsLockClient } from "../../../formats/src/index.js";
import { local } from "../../../testing/src/index.js";
import { forceRelease, history, listLocks } from "../../src/admin/index.js";
import { inspect, once } from "../../src/index.js";

const TEN = "2026-01-01T10:00:00.000Z";
const ONCE = { kind: "once" } as const;

let world: World;
let someone: Inhabitant;
beforeEach(() => {
  world = new World();
  someone = world.inhabitant();
});

async function listed(options: object): Promise<unknown[]> {
  const pages = listLocks(someone.locks, { ...ONCE, ...options })[Symbol.asyncIterator]();
  const { value } = await world.until(pages.next());
  return value?.locks ?? [];
}

describe("a task of once", () => {
  it("is shown while it runs, with its occurrence", async () => {
    let inside: unknown;
    const running: unknown[] = [];
    await world.until(
      once(someone.locks, "report", { occurrence: TEN }, async (lease) => {
        inside = await inspect(someone.locks, "report", ONCE);
        for await (const page of listLocks(someone.locks, ONCE)) running.push(...page.locks);
        expect(inside).toMatchObject({ state: "held", holder: lease.holder });
      }),
    );
    const data = { occurrence: TEN, ended: false };
    expect(inside).toMatchObject({ name: "report", state: "held", data });
    expect(running).toMatchObject([{ name: "report", data }]);
  });

  it("is shown after its end, with the last occurrence, and listed with the free records only", async () => {
    await world.until(once(someone.locks, "report", { occurrence: TEN }, () => undefined));
    const data = { occurrence: TEN, ended: true, outcome: "completed" };
    const found = await world.until(inspect(someone.locks, "report", ONCE));
    expect(found).toMatchObject({ name: "report", state: "free", data });
    expect(await listed({})).toEqual([]);
    expect(await listed({ free: true })).toMatchObject([{ name: "report", data }]);
    expect(await listed({ free: true, prefix: "other" })).toEqual([]);
  });

  it("shows the error of a failed run, until the next run begins, at no further request", async () => {
    const failing = (message: string) => () =>
      once(someone.locks, "report", { occurrence: message.slice(0, 9) }, () => {
        throw new TypeError(message);
      }).catch(() => undefined);
    const counted = await world.requests(failing("no\npaper"));
    expect(counted).toMatchObject({ writes: 3, reads: 1 });
    const shown = async () => (await world.until(inspect(someone.locks, "report", ONCE))).data;
    const error = "TypeError: no\\u000apaper";
    expect(await shown()).toEqual({
      occurrence: "no\npaper",
      ended: true,
      outcome: "failed",
      error,
    });
    await world.until(failing("x".repeat(1_000))());
    const { error: cut } = (await shown()) as { error: string };
    expect(cut.length).toBe(300);
    let during: unknown;
    const next = once(someone.locks, "report", { occurrence: "z" }, async () => {
      during = (await inspect(someone.locks, "report", ONCE)).data;
    });
    expect(await world.until(next)).toMatchObject({ ran: true });
    expect(during).toEqual({ occurrence: "z", ended: false });
  });

  it("keeps the outcome when another caller finds the occurrence ended", async () => {
    const other = world.inhabitant();
    await world.until(once(someone.locks, "report", { occurrence: TEN }, () => undefined));
    other.network.next("read", { fault: "stale", changesAgo: 3 });
    const late = once(other.locks, "report", { occurrence: TEN }, () => undefined);
    expect(await world.until(late)).toEqual({ ran: false, why: "already" });
    const found = await world.until(inspect(someone.locks, "report", ONCE));
    expect(found.data).toMatchObject({ ended: true, outcome: "completed" });
  });

  it("is apart from the lock of its name", async () => {
    await world.until(once(someone.locks, "report", { occurrence: TEN }, () => undefined));
    const lock = await world.until(inspect(someone.locks, "report"));
    expect(lock.state).toBe("absent");
    const task = await world.until(inspect(someone.locks, "never run", ONCE));
    expect(task.state).toBe("absent");
  });

  it("has no forced release and no history", async () => {
    const { locks } = someone;
    const kind = "once" as never;
    const refused = expect.objectContaining({ code: "invalid-argument" });
    expect(() => forceRelease(locks, "report", { kind, reason: "r" })).toThrow(refused);
    expect(() => history(locks, "report", { kind })).toThrow(refused);
  });

  it("does not exist in a format of another client", async () => {
    const locks = local({ table: "foreign", format: awsLockClient() } as object);
    const pages = listLocks(locks, ONCE)[Symbol.asyncIterator]();
    await expectError(pages.next(), { code: "invalid-argument" });
    expect(() => inspect(locks, "a", ONCE)).toThrow(/once/);
  });
});
