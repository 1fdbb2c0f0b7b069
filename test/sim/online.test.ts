import { describe, expect, it } from "vitest";
import { HoldfastError, type Lease } from "../../packages/holdfast/src/index.js";
import type {
  Call,
  Item,
  Query,
  Read,
  TablePort,
  Write,
  WriteAnswer,
} from "../../packages/holdfast/src/platform/table.js";
import { Budget } from "../../verification/sim/budget.js";
import type { Event } from "../../verification/sim/history.js";
import type { Incarnation } from "../../verification/sim/incarnation.js";
import { paced } from "../../verification/sim/pacing.js";
import { planOf } from "../../verification/sim/plan.js";
import { Records } from "../../verification/sim/records.js";
import { Settling } from "../../verification/sim/settling.js";
import { Witness } from "../../verification/sim/witness.js";
import { Silence } from "../../verification/sim/world/silence.js";
import { World } from "../support/world.js";

// The checks which run during the simulation, not over its history: each sees a bad scene, which it must report, and
// the same scene without the defect.

const plan = { ...planOf(1, 60_000), names: ["a"], poll: { min: 100, max: 400 } };

describe("the request budget reports", () => {
  const told = (sends: number, eachMs: number, calls = 0): string[] => {
    const wrong: string[] = [];
    const budget = new Budget(plan, (what) => wrong.push(what));
    for (let call = 0; call < calls; call += 1) budget.asked(0);
    for (let send = 0; send < sends; send += 1) budget.sent(send * eachMs);
    return wrong;
  };

  it("a loop without a pause, but not a loop with pauses", () => {
    expect(told(500, 0)).toHaveLength(1);
    expect(told(500, 1)).toHaveLength(1);
    expect(told(500, 75)).toEqual([]);
  });

  it("more requests than the process's calls explain", () => {
    expect(told(60, 0)).toHaveLength(1);
    expect(told(60, 0, 3)).toEqual([]);
    expect(told(200, 0, 3)).toHaveLength(1);
  });

  it("a place that is removed again and again, but not the removal of many places", () => {
    const removals = (placeOf: (send: number) => string): string[] => {
      const wrong: string[] = [];
      const budget = new Budget(plan, (what) => wrong.push(what));
      for (let send = 0; send < 500; send += 1) budget.sent(0, placeOf(send));
      return wrong;
    };
    expect(removals((send) => `ticket//${send}`)).toEqual([]);
    expect(removals(() => "ticket//1")).toHaveLength(1);
  });
});

interface Scene {
  readonly isHeld?: boolean;
  readonly state?: string;
  readonly fence?: bigint;
  readonly isExclusive?: boolean;
}

function recordsWith({ isHeld = true, state = "running", fence = 1n, isExclusive = true }: Scene) {
  const wrong: string[] = [];
  const events: Event[] = [];
  const records = new Records(
    { isExclusive, seesQueues: false },
    () => 0,
    (event) => events.push(event),
    (invariant, what) => wrong.push(`${invariant}: ${what}`),
  );
  const self = { name: "p1", process: { state } } as unknown as Incarnation;
  records.handedOut(self, { name: "a", fence, isHeld } as Lease);
  const change = (after: Item, before: Item | undefined, writer: string): void =>
    records.changed(
      { key: { pk: { S: "lock#a" } }, before, after, atMs: 0, by: "write", write: undefined },
      writer,
    );
  return { wrong, events, change, records };
}

const held = (holder: string, fence: number, owner: string, more: Item = {}): Item => ({
  holder: { S: holder },
  fence: { N: String(fence) },
  version: { N: String(fence) },
  leaseMs: { N: "1000" },
  owner: { S: owner },
  ...more,
});

describe("the check of every grant reports", () => {
  const grantOfTwo = (scene: Scene): string[] => {
    const { wrong, change } = recordsWith(scene);
    change(held("h2", 2, "p2"), held("h1", 1, "p1"), "p2");
    return wrong;
  };

  it("a grant during the belief of a holder with a lower fence", () => {
    expect(grantOfTwo({})).toEqual([expect.stringMatching(/^exclusion: p1 believes in "a"/)]);
  });

  it.each<Scene>([
    { isHeld: false },
    { state: "killed" },
    { state: "paused" },
    { fence: 2n },
    { isExclusive: false },
  ])("no grant with %o", (scene) => {
    expect(grantOfTwo(scene)).toEqual([]);
  });
});

describe("the check of every write reports", () => {
  const changed = { data: { S: "x" }, dataSeq: { N: "1" } };
  const dataBy = (writer: string, after = held("h1", 1, "p1", changed)) => {
    const { wrong, events, change } = recordsWith({});
    change(after, held("h1", 1, "p1"), writer);
    return { wrong, events };
  };

  it("data written under the lock of a different process, which no history shows", () => {
    const { wrong, events } = dataBy("p2");
    expect(wrong).toEqual(['ownership: p2 wrote "a", which p1 holds']);
    expect(events).toEqual([]);
    expect(dataBy("p1").wrong).toEqual([]);
  });

  it("a late write that undoes newer data, or a newer length", () => {
    const { wrong, records, change } = recordsWith({});
    const ofData = (seq: number): Item =>
      held("h1", 1, "p1", { data: { N: `${seq}` }, dataSeq: { N: `${seq}` } });
    const newer = ofData(2);
    change(ofData(1), newer, "p1");
    expect(wrong).toEqual([expect.stringMatching(/^newer write kept: data 1 of "a"/)]);
    const lease = { name: "a", fence: 1n, isHeld: true };
    const first = records.lengthAsked(lease);
    const second = records.lengthAsked(lease);
    first(1);
    change({ ...newer, version: { N: "8" } }, newer, "p1");
    expect(wrong).toHaveLength(1);
    second(9_000);
    change({ ...newer, version: { N: "9" } }, newer, "p1");
    expect(wrong[1]).toMatch(/^newer write kept: "a" \(1\) has a lease of/);
  });

  it("no write to a record without a holder", () => {
    const { holder: _, ...free } = held("h1", 1, "p1");
    const { wrong, change } = recordsWith({});
    change({ ...free, data: { S: "x" } }, free, "p2");
    expect(wrong).toEqual([]);
  });
});

describe("the witness reports", () => {
  const release = (fence: string): Write => ({
    key: { pk: { S: "lock#a" }, sk: { S: "lease" } },
    condition: {
      kind: "all",
      of: [
        { kind: "equals", attribute: "holder", value: { S: "h1" } },
        { kind: "equals", attribute: "fence", value: { N: fence } },
      ],
    },
    change: { set: { lastHolder: { S: "h1" } }, remove: ["holder"] },
  });

  it("a second release after the answer to the first, but no retry of an unanswered release", async () => {
    const again: string[] = [];
    const answers: WriteAnswer["kind"][] = ["unknown", "applied", "applied", "refused"];
    const network = { write: async () => ({ kind: answers.shift() }) } as unknown as TablePort;
    const listener = {
      trueNowMs: 0,
      note: () => undefined,
      sent: () => undefined,
      releasedAgain: (name: string, holder?: string) => again.push(`${name} ${holder}`),
    };
    const witness = new Witness(network, listener, false);
    const call = {} as Call;
    for (const fence of ["1", "1", "2"]) await witness.write(release(fence), call);
    expect(again).toEqual([]);
    await witness.write(release("1"), call);
    expect(again).toEqual(["a h1"]);
  });
});

describe("the check after the faults reports", () => {
  function settling() {
    const world = new World();
    const wrong: string[] = [];
    const fail = (invariant: string): unknown => wrong.push(invariant);
    return { world, wrong, settling: new Settling(world.time, fail) };
  }

  it("a worker or a client which never ends: progress", async () => {
    const { world, wrong, settling: left } = settling();
    const late = new Promise<void>((resolve) => world.time.timers.set(900, true, resolve));
    await left.expectEnd("a worker", [late], 1_000);
    await left.expectClosed([Promise.resolve()]);
    expect(wrong).toEqual([]);
    const never = new Promise<void>(() => undefined);
    await left.expectEnd("a worker", [Promise.resolve(), never], 1_000);
    await left.expectClosed([never]);
    await left.expectClosed([Promise.reject(new Error("no answer"))]);
    expect(wrong).toEqual(["progress", "progress", "progress"]);
  });

  it.each([
    ["a record with a holder for longer than a lease", 30_000, ["no orphan"]],
    ["no record with a dead holder within its lease", 1_000, []],
  ])("%s", async (_, leaseMs, told) => {
    const { world, wrong, settling: left } = settling();
    const { locks } = world.inhabitant();
    const orphan = held("h1", 1, "p1", { v: { N: "1" }, leaseMs: { N: String(leaseMs) } });
    world.table.putItem({ pk: { S: "lock#a" }, sk: { S: "lease" } }, orphan);
    const seen: string[] = [];
    const newcomer = { locks, note: ({ kind }: { kind: string }) => void seen.push(kind) };
    await left.expectFree(newcomer, ["a", "b"], 5_000);
    expect(wrong).toEqual(told);
    expect(seen).toContain("granted");
  });

  it("a timer, or an error without a caller: no leak", async () => {
    const { wrong, settling: left } = settling();
    const process = (timers: number) => ({ name: "p1", process: { pendingTimers: () => timers } });
    const unanswered = Object.assign(new Error("no answer"), { code: "outcome-unknown" });
    const notice = Object.assign(new Error("silent table"), { code: "unreachable" });
    const [faulty, calm] = [{ hasFaults: true }, { hasFaults: false }];
    left.expectNothingLeft([process(0), process(0)], [unanswered, notice], faulty);
    left.expectNothingLeft([process(0)], [unanswered], calm);
    expect(wrong).toEqual([]);
    left.expectNothingLeft([process(0), process(1)], [], faulty);
    left.expectNothingLeft([], [new Error("a defect")], faulty);
    left.expectNothingLeft([], [Object.assign(new Error("lost"), { code: "lost" })], faulty);
    left.expectNothingLeft(
      [],
      [Object.assign(new Error("a"), { ...notice, lockName: "a" })],
      faulty,
    );
    left.expectNothingLeft([], [notice], calm);
    expect(wrong).toEqual(Array(5).fill("no leak"));
  });
});

describe("the check of pauses reports", () => {
  /** Two loops of one process, each of which sends right after its answer. */
  async function looping(latencyMs: number): Promise<string[]> {
    const { time } = new World();
    const wrong: string[] = [];
    const read = () => time.sleep(latencyMs);
    const table = paced(
      { read } as unknown as TablePort,
      () => time.nowMs,
      (what) => wrong.push(what),
    );
    for (const _ of ["first", "second"]) {
      void (async () => {
        for (let sent = 0; sent < 20; sent += 1)
          await table.read({ key: { pk: { S: "lock#a" } } } as unknown as Read, {} as Call);
      })();
    }
    await time.advance(60_000);
    return wrong;
  }

  it("requests in a loop, but not the polls of a slow table", async () => {
    expect(await looping(30)).toHaveLength(1);
    expect(await looping(399)).toHaveLength(1);
    expect(await looping(475)).toEqual([]);
  });
});

describe("the check of waiting calls reports", () => {
  type Told = "unreachable" | "throttled" | "access-denied";

  /** A call that waits while each of its requests, one a second, gets such an answer; `toldMs`: when it is told. */
  async function waiting(
    answerAt: (sentMs: number) => { readonly kind: string },
    told: Readonly<Record<number, Told>>,
    wait?: number,
    servesQueries = false,
    untilMs = 10_500,
  ): Promise<string[]> {
    const { time } = new World();
    const { clock, timers } = time.process();
    const wrong: string[] = [];
    const fail = (what: string): void => void wrong.push(what);
    const silence = new Silence({ name: "p1", clock, timers, requestTimeoutMs: 1_000, fail });
    const read = async () => answerAt(time.nowMs);
    const query = async () => (servesQueries ? { kind: "page" } : answerAt(time.nowMs));
    const table = silence.port({ read, query } as unknown as TablePort);
    for (const [atMs, code] of Object.entries(told)) {
      time.timers.set(Number(atMs), true, () => silence.told(new HoldfastError(code, "Told.")));
    }
    const call = async (): Promise<void> => {
      for (;;) {
        await table.read({ key: {} } as Read, {} as Call);
        if (servesQueries) await table.query({} as Query, {} as Call);
        await time.sleep(1_000);
      }
    };
    void silence.watch("waited", wait === undefined ? {} : { wait }, call);
    await time.advance(untilMs);
    return wrong;
  }

  const unknown = () => ({ kind: "unknown" });
  const throttled = () => ({ kind: "throttled" });
  const denied = () => ({ kind: "misconfigured" });
  const found = { kind: "found" };

  it("a table without answers that is not told in time", async () => {
    expect(await waiting(unknown, {})).toHaveLength(1);
    expect(await waiting(unknown, { 3000: "unreachable" })).toHaveLength(1);
    expect(await waiting(unknown, { 2000: "unreachable" })).toEqual([]);
    expect(await waiting(unknown, {}, 1_500)).toEqual([]);
  });

  it("a second outage that is not told", async () => {
    const twice = (sentMs: number) => (Math.floor(sentMs / 1_000) === 4 ? found : unknown());
    expect(await waiting(twice, { 2000: "unreachable" })).toHaveLength(1);
    expect(await waiting(twice, { 2000: "unreachable", 7000: "unreachable" })).toEqual([]);
  });

  it("a later outage that is not told when words have become rare", async () => {
    const often = (sentMs: number) => (Math.floor(sentMs / 1_000) % 4 === 0 ? found : unknown());
    const rare = { 3000: "unreachable", 7000: "unreachable" } as const;
    expect(await waiting(often, rare)).toEqual([]);
    expect(await waiting(often, rare, undefined, false, 15_500)).toHaveLength(1);
    expect(
      await waiting(often, { ...rare, 13000: "unreachable" }, undefined, false, 15_500),
    ).toEqual([]);
  });

  it("throttling that is not told, but not a single refused request", async () => {
    expect(await waiting(throttled, {})).toHaveLength(1);
    expect(await waiting(throttled, { 2000: "throttled" })).toEqual([]);
    const once = (sentMs: number) => (Math.floor(sentMs / 1_000) % 2 === 0 ? found : throttled());
    expect(await waiting(once, {})).toEqual([]);
  });

  it("requests of one kind that fail for long, while others are served", async () => {
    for (const [answer, code] of [
      [unknown, "unreachable"],
      [throttled, "throttled"],
    ] as const) {
      expect(await waiting(answer, {}, undefined, true)).toHaveLength(1);
      expect(await waiting(answer, { 3000: code }, undefined, true)).toEqual([]);
    }
  });

  it("refused credentials that are not told at once", async () => {
    expect(await waiting(denied, { 100: "access-denied" })).toHaveLength(1);
    expect(await waiting(denied, { 100: "unreachable" })).toHaveLength(1);
    expect(await waiting(denied, { 1: "access-denied" })).toEqual([]);
  });
});
