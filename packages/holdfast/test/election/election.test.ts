import { beforeEach, describe, expect, it } from "vitest";
import {
  candidate,
  electionRecord,
  leads,
  NAME,
  type Standing,
  toldBy,
  untilTold,
} from "../../../../test/support/election.js";
import { World } from "../../../../test/support/world.js";
import type { Fault } from "../../../testing/src/faults/fault-plan.js";
import type { ReleaseOptions } from "../../src/core/hold/writes.js";
import type { LeaderInfo } from "../../src/election/index.js";
import type { ErrorCode, HoldfastError, Lease } from "../../src/index.js";
import type { Item } from "../../src/platform/table.js";

let world: World;
beforeEach(() => {
  world = new World();
});

const kindsOf = (one: Standing) => one.told.map(({ kind }) => kind);

describe("a campaign", () => {
  it("elects a single candidate at once, with a read and a write", async () => {
    const a = candidate(world);
    const { result: term, writes } = await world.requests(() =>
      a.election.campaign({ value: { at: "10.0.0.1" } }),
    );
    expect(writes).toBe(1);
    expect(world.time.nowMs).toBeLessThan(50);
    expect([a.election.isLeader, term.isHeld]).toEqual([true, true]);
    expect(term.data).toEqual({ at: "10.0.0.1" });
    expect(electionRecord(world)?.["leaseMs"]).toEqual({ N: "52000" });
    expect(a.told).toMatchObject([{ kind: "elected", name: NAME, term: term.fence, gapMs: 0 }]);
  });

  it("elects the second candidate within a poll after the first resigns", async () => {
    const [a, b] = [candidate(world), candidate(world)];
    const first = await world.until(a.election.campaign());
    const campaign = b.election.campaign();
    await world.time.advance(300_000);
    expect(b.election.isLeader).toBe(false);
    await world.until(first.release());
    const resignedMs = world.time.nowMs;
    const second = await world.until(campaign);
    expect(world.time.nowMs - resignedMs).toBeLessThanOrEqual(5_000);
    expect(second.fence).toBeGreaterThan(first.fence);
    expect(kindsOf(a)).toEqual(["elected", "resigned"]);
    expect(first.signal.reason).toMatchObject({ code: "resigned" });
  });

  it("replaces a dead leader a watch and a poll after its last renewal", async () => {
    const [a, b] = [candidate(world), candidate(world)];
    await world.until(a.election.campaign());
    const campaign = b.election.campaign();
    await world.time.advance(100_000);
    a.process.kill();
    const renewals = world.table.log.filter(({ write }) => write !== undefined);
    const lastMs = renewals.at(-1)?.atMs ?? 0;
    await world.until(campaign);
    const tookMs = world.time.nowMs - lastMs;
    expect(tookMs).toBeGreaterThan(52_000 * 1.02);
    expect(tookMs).toBeLessThanOrEqual(52_000 * 1.02 + 5_000);
    expect(b.told[0]?.gapMs).toBeGreaterThan(52_000);
  });

  it("reads a throttled table with pauses, also when the takeover is near", async () => {
    const [a, b] = [candidate(world), candidate(world)];
    await world.until(a.election.campaign());
    const campaign = b.election.campaign();
    await world.time.advance(100_000);
    a.process.kill();
    const readsMs: number[] = [];
    b.network.script(({ kind }) => {
      if (kind === "read") readsMs.push(world.time.nowMs);
      return { fault: "throttled" };
    });
    await world.time.advance(60_000);
    const pauses = readsMs.slice(1).map((atMs, index) => atMs - (readsMs[index] ?? 0));
    expect(pauses.length).toBeGreaterThan(20);
    // The last read before the takeover may follow soon on another.
    expect(pauses.filter((pauseMs) => pauseMs < 100).length).toBeLessThanOrEqual(2);
    b.network.script(() => undefined);
    await world.until(campaign);
    expect(b.election.isLeader).toBe(true);
  });

  describe("of a process that has just started", () => {
    const LEASE_MS = 52_000;
    const BOUND_MS = 10_000;
    const HOUR_MS = 3_600_000;
    const exact = (trueMs: number): number => trueMs;

    it("replaces a dead leader at first sight, with one read more, and reports the gap", async () => {
      const dated = new World({ dates: exact });
      const dead = candidate(dated);
      await dated.until(dead.election.campaign());
      dead.process.kill();
      await dated.time.advance(HOUR_MS);
      const fresh = candidate(dated);
      const { result: term, ...cost } = await dated.requests(() => fresh.election.campaign());
      expect(term.isHeld).toBe(true);
      expect(cost).toMatchObject({ writes: 1, reads: 2 });
      const [{ gapMs = 0 } = {}] = fresh.told;
      expect(Math.abs(gapMs - HOUR_MS)).toBeLessThan(3_000);
    });

    it("does not believe an eventually consistent read that a leader's lease is over", async () => {
      const dated = new World({ dates: exact });
      const leader = candidate(dated);
      await dated.until(leader.election.campaign());
      await dated.time.advance(LEASE_MS + BOUND_MS + 20_000);
      const renewals = dated.table.log.filter(({ write }) => write !== undefined).length - 1;
      const fresh = candidate(dated);
      // The record as it was granted: its end is long past by the `Date` of this read.
      fresh.network.next("read", { fault: "stale", changesAgo: renewals });
      const controller = new AbortController();
      const campaign = fresh.election.campaign({ signal: controller.signal });
      await dated.time.advance(1_000);
      controller.abort(new Error("enough"));
      await expect(campaign).rejects.toThrow("enough");
      expect(fresh.network.requests).toMatchObject({ write: 0, read: 2 });
      expect(leader.election.isLeader).toBe(true);
    });

    it("never replaces a live leader, nor a leader before its deadline", async () => {
      const dated = new World({ dates: exact });
      const leader = candidate(dated);
      await dated.until(leader.election.campaign());
      const lastMs = dated.time.nowMs;
      leader.process.kill();
      let takenMs: number | undefined;
      while (takenMs === undefined) {
        await dated.time.advance(500);
        const fresh = candidate(dated, { poll: "400ms" });
        const controller = new AbortController();
        const campaign = fresh.election.campaign({ signal: controller.signal });
        campaign.then(
          () => (takenMs = dated.time.nowMs - lastMs),
          () => undefined,
        );
        await dated.time.advance(500);
        controller.abort(new Error("enough"));
      }
      expect(takenMs).toBeGreaterThan(LEASE_MS + BOUND_MS);
      expect(takenMs).toBeLessThan(LEASE_MS + BOUND_MS + 4_000);
    });
  });

  it("reports the time without a leader after a resignation, at most a poll too long", async () => {
    const [a, b] = [candidate(world), candidate(world)];
    const first = await world.until(a.election.campaign());
    const campaign = b.election.campaign();
    await world.time.advance(60_000);
    await world.until(first.release());
    const resignedMs = world.time.nowMs;
    await world.until(campaign);
    const nobodyMs = world.time.nowMs - resignedMs;
    const [{ gapMs = 0 } = {}] = b.told;
    expect(gapMs).toBeGreaterThanOrEqual(nobodyMs - 100);
    expect(gapMs).toBeLessThanOrEqual(nobodyMs + 5_000);
  });

  it("counts the gap after its own resignation from the resignation", async () => {
    const alone = candidate(world);
    const term = await world.until(alone.election.campaign());
    await world.until(term.release());
    const resignedMs = world.time.nowMs;
    await world.until(alone.election.campaign());
    const { gapMs = 0 } = alone.told.at(-1) ?? {};
    const nobodyMs = world.time.nowMs - resignedMs;
    expect(nobodyMs).toBeGreaterThan(5_000);
    expect(Math.abs(gapMs - nobodyMs)).toBeLessThan(100);
  });

  it("does not count the gap after a loss from an earlier resignation", async () => {
    const alone = candidate(world);
    await world.until((await world.until(alone.election.campaign())).release());
    const second = await world.until(alone.election.campaign());
    await world.time.advance(600_000);
    world.table.deleteItem({ pk: { S: `leader#${NAME}` }, sk: { S: "lease" } });
    await world.time.advance(20_000);
    expect(second.signal.reason).toMatchObject({ reason: "deleted" });
    await world.until(alone.election.campaign());
    const { gapMs = 0 } = alone.told.at(-1) ?? {};
    expect(gapMs).toBeLessThan(30_000);
  });

  it("reports a table that does not answer, once", async () => {
    const a = candidate(world, {}, { requestTimeout: "5s" });
    a.network.script(() => ({ fault: "request-lost", unknownAfterMs: 100 }));
    a.election.campaign().catch(() => undefined);
    await world.time.advance(4_000);
    expect(a.reported).toEqual([]);
    await world.time.advance(60_000);
    expect(a.reported).toMatchObject([{ code: "unreachable", lockName: undefined }]);
    await world.until(a.locks.close());
  });

  it("rejects with its signal's reason, and leaves nothing in the table", async () => {
    const [a, b] = [candidate(world), candidate(world)];
    const term = await world.until(a.election.campaign());
    const controller = new AbortController();
    const campaign = b.election.campaign({ signal: controller.signal });
    campaign.catch(() => undefined);
    await world.time.advance(12_000);
    const before = electionRecord(world);
    controller.abort(new Error("enough"));
    await expect(world.until(campaign)).rejects.toThrow("enough");
    expect(electionRecord(world)).toEqual(before);
    expect(b.process.pendingTimers()).toBe(0);
    expect(term.isHeld).toBe(true);
  });

  it("rejects with `closed` when the client closes, also before the start", async () => {
    const [a, b] = [candidate(world), candidate(world)];
    await world.until(a.election.campaign());
    const campaign = b.election.campaign();
    campaign.catch(() => undefined);
    await world.time.advance(7_000);
    await world.until(b.locks.close());
    await expect(campaign).rejects.toMatchObject({ code: "closed" });
    await expect(b.election.campaign()).rejects.toMatchObject({ code: "closed" });
    expect(b.process.pendingTimers()).toBe(0);
  });

  it("is refused while the same candidate campaigns or leads", async () => {
    const a = candidate(world);
    const term = await world.until(a.election.campaign());
    await expect(a.election.campaign()).rejects.toMatchObject({ code: "invalid-argument" });
    await expect(a.election.lead(untilTold)).rejects.toMatchObject({ code: "invalid-argument" });
    await world.until(term.release());
    expect(a.election.term).toBeUndefined();
    await world.until(a.election.campaign());
  });

  it("rejects at once for a foreign record", async () => {
    const a = candidate(world);
    world.table.putItem({ pk: { S: `leader#${NAME}` }, sk: { S: "lease" } }, { other: { S: "x" } });
    await expect(world.until(a.election.campaign())).rejects.toMatchObject({
      code: "foreign-record",
    });
  });

  it("retries while the table does not answer, and succeeds afterwards", async () => {
    const a = candidate(world);
    a.network.script(() => ({ fault: "request-lost" }));
    const campaign = a.election.campaign();
    await world.time.advance(600_000);
    expect(a.told).toEqual([]);
    a.network.script(undefined);
    const backMs = world.time.nowMs;
    await world.until(campaign);
    expect(world.time.nowMs - backMs).toBeLessThan(7_000);
  });
});

describe("a term", () => {
  it("is lost by the clocks, once, and aborts its signal before any timer", async () => {
    const a = candidate(world);
    const term = await world.until(a.election.campaign());
    const { signal } = term;
    a.process.pause();
    await world.time.advance(60_000);
    a.process.resume();
    // Nothing of the process has run yet: the first check detects the loss.
    expect(signal.aborted).toBe(true);
    expect(signal.reason).toMatchObject({ code: "lost", reason: "expired" });
    expect(term.isHeld).toBe(false);
    expect(() => term.assertHeld()).toThrow(
      expect.objectContaining({ code: "lost", reason: "expired" }),
    );
    await world.time.advance(60_000);
    expect(kindsOf(a)).toEqual(["elected", "lost"]);
    expect(a.told[1]).toMatchObject({ reason: "expired", term: term.fence });
  });

  it("is reported as lost, not resigned, when the record was deleted before the release", async () => {
    const a = candidate(world);
    const term = await world.until(a.election.campaign());
    world.table.deleteItem({ pk: { S: `leader#${NAME}` }, sk: { S: "lease" } });
    await world.until(term.release());
    expect(kindsOf(a)).toEqual(["elected", "lost"]);
    expect(a.told[1]).toMatchObject({ reason: "deleted" });
  });

  it("tells every listener of its changes, and reports the errors of listeners, also of async ones", async () => {
    const a = candidate(world);
    const late: string[] = [];
    a.election.onTransition(() => {
      throw new Error("no pager");
    });
    a.election.onTransition(async () => {
      await Promise.reject(new Error("no answer"));
    });
    a.election.onTransition(({ kind }) => late.push(kind));
    await world.until(a.election.campaign());
    await world.time.advance(1);
    expect(late).toEqual(["elected"]);
    const messages = a.reported.map(({ message }) => message);
    expect(messages).toEqual(
      [/no pager$/, /no answer$/].map((what) => expect.stringMatching(what)),
    );
  });

  it.each<[ReleaseOptions, object | undefined]>([
    [{}, undefined],
    [{ keepData: true }, { N: "1" }],
  ])("is released with %j, as a lock is", async (options, data) => {
    const a = candidate(world);
    const term = await world.until(a.election.campaign({ value: 1 }));
    expect(() => term.release({ keepdata: true } as never)).toThrow("`keepdata`");
    expect(a.election.isLeader).toBe(true);
    await world.until(term.release(options));
    expect(electionRecord(world)?.["data"]).toEqual(data);
  });

  it("is led in the listeners of its election, which may proclaim a value", async () => {
    const a = candidate(world);
    let proclaiming: Promise<void> | undefined;
    const seen: unknown[] = [];
    a.election.onTransition(({ kind }) => {
      seen.push([kind, a.election.isLeader, a.election.term !== undefined]);
      if (kind === "elected") proclaiming = a.election.proclaim("10.0.0.1");
    });
    const term = await world.until(a.election.campaign());
    await world.until(Promise.resolve(proclaiming));
    expect(electionRecord(world)?.["data"]).toEqual({ S: "10.0.0.1" });
    await world.until(term.release());
    expect(seen).toEqual([
      ["elected", true, true],
      ["resigned", false, false],
    ]);
  });

  it("is told of as elected, and then as lost, although it is over at once", async () => {
    const a = candidate(world);
    a.election.onTransition(({ kind }) => {
      if (kind === "elected") a.process.stepWall(60_000);
      expect(a.election.isLeader).toBe(false);
    });
    await world.until(a.election.campaign());
    expect(kindsOf(a)).toEqual(["elected", "lost"]);
    expect(a.reported).toEqual([]);
  });

  it("refuses a listener that is no function", () => {
    const { election } = candidate(world);
    const wrong = expect.objectContaining({ code: "invalid-argument" });
    expect(() => election.onTransition(undefined as never)).toThrow(wrong);
  });

  it("publishes proclaimed values in order", async () => {
    const a = candidate(world);
    const b = candidate(world);
    await expect(a.election.proclaim("too early")).rejects.toMatchObject({ code: "not-acquired" });
    await world.until(a.election.campaign({ value: 1 }));
    await world.until(Promise.all([2, 3, 4].map((value) => a.election.proclaim(value))));
    expect(await world.until(b.election.leader())).toMatchObject({ value: 4 });
  });
});

describe("lead", () => {
  it("runs the body during a term, and campaigns again after a loss", async () => {
    const a = candidate(world);
    const terms: Lease[] = [];
    const leading = a.election.lead(async (term) => {
      terms.push(term);
      await untilTold(term);
    });
    await world.time.advance(10_000);
    a.network.script(() => ({ fault: "request-lost" }));
    await world.time.advance(120_000);
    expect(terms.map(({ isHeld }) => isHeld)).toEqual([false]);
    a.network.script(undefined);
    await world.time.advance(10_000);
    expect(terms.map(({ isHeld }) => isHeld)).toEqual([false, true]);
    await world.until(a.locks.close());
    await leading;
    expect(kindsOf(a)).toEqual(["elected", "lost", "elected", "resigned"]);
    expect(electionRecord(world)?.["holder"]).toBeUndefined();
  });

  // rule: protocol 61
  it("releases a term only after the body has ended, at resign and at close", async () => {
    const [a, b] = [candidate(world), candidate(world)];
    let endBody = (): void => undefined;
    const body = () =>
      new Promise<void>((resolve) => {
        endBody = resolve;
      });
    const leading = a.election.lead(body);
    await world.time.advance(1_000);
    leads(b);
    const resigned = a.election.resign();
    await world.time.advance(200_000);
    // The signal aborted minutes ago and the body still runs: so no rival leads.
    expect([a.election.isLeader, b.election.isLeader]).toEqual([false, false]);
    expect(a.election.term?.remainingMs()).toBeGreaterThan(0);
    endBody();
    await world.until(resigned);
    await world.time.advance(5_000);
    expect(b.election.isLeader).toBe(true);
    await world.until(a.locks.close());
    await leading;
  });

  it("leaves the lease to expire when the body continues after the client closed", async () => {
    const [a, b] = [candidate(world), candidate(world)];
    const leading = a.election.lead(() => new Promise(() => undefined));
    await world.time.advance(1_000);
    leads(b);
    await world.time.advance(10_000);
    await world.until(a.locks.close());
    expect(electionRecord(world)?.["holder"]).toBeDefined();
    expect(a.told.at(-1)).toMatchObject({ kind: "lost", reason: "closed" });
    await world.time.advance(40_000);
    expect(b.election.isLeader).toBe(false);
    await world.time.advance(20_000);
    expect(b.election.isLeader).toBe(true);
    void leading;
  });

  it("releases a term that a listener of its election resigned after the body, too", async () => {
    const a = candidate(world);
    const seen: string[] = [];
    a.election.onTransition(({ kind }) => {
      seen.push(kind);
      if (kind === "elected") void a.election.resign();
    });
    const leading = a.election.lead({ again: false }, async (term) => {
      await untilTold(term);
      await world.time.sleep(10_000);
      seen.push("body");
    });
    await world.until(leading);
    expect(seen).toEqual(["elected", "body", "resigned"]);
  });

  it("waits two polls after a resignation, and leads again without rivals", async () => {
    const a = candidate(world);
    leads(a);
    await world.time.advance(20_000);
    await world.until(a.election.resign());
    const resignedMs = world.time.nowMs;
    await world.time.advance(9_900);
    expect(a.election.isLeader).toBe(false);
    await world.time.advance(5_200);
    expect(a.election.isLeader).toBe(true);
    expect((a.told.at(-1)?.atMs ?? 0) - resignedMs).toBeGreaterThanOrEqual(10_000);
  });

  it("rejects with the body's error, after the release", async () => {
    const a = candidate(world);
    const leading = a.election.lead(() => {
      throw new Error("broken");
    });
    await expect(world.until(leading)).rejects.toThrow("broken");
    expect(kindsOf(a)).toEqual(["elected", "resigned"]);
  });

  it("reports an error of the body after the abort, unless the error is the abort's reason", async () => {
    const a = candidate(world);
    const errors = [new Error("while ending"), "the reason"];
    leads(a);
    await world.until(a.locks.close());
    const b = candidate(world);
    const leading = b.election.lead(async ({ signal }) => {
      await untilTold({ signal });
      throw errors[0] === undefined ? signal.reason : errors.shift();
    });
    await world.time.advance(1_000);
    await world.until(b.election.resign());
    await world.time.advance(20_000);
    errors.length = 0;
    await world.until(b.locks.close());
    await leading;
    expect(b.reported.map(({ cause }) => (cause as Error).message)).toEqual(["while ending"]);
  });

  it("ends when its signal aborts, and after a single term with `again: false`", async () => {
    const a = candidate(world);
    const controller = new AbortController();
    const leading = a.election.lead({ signal: controller.signal }, untilTold);
    await world.time.advance(1_000);
    controller.abort();
    await world.until(leading);
    expect(kindsOf(a)).toEqual(["elected", "resigned"]);
    await world.time.advance(20_000);
    await world.until(a.election.lead({ again: false }, async () => undefined));
    expect(kindsOf(a)).toEqual(["elected", "resigned", "elected", "resigned"]);
  });
});

describe("a request to resign", () => {
  // rule: protocol 58
  it("is honoured at the leader's next renewal, and changes nothing else in the record", async () => {
    const [a, b, c] = [candidate(world), candidate(world), candidate(world)];
    leads(a);
    await world.time.advance(1_000);
    leads(b);
    await world.time.advance(20_000);
    const before = electionRecord(world);
    const asked = c.election.requestResign();
    await world.time.advance(20);
    const after = electionRecord(world);
    const request = { M: { kind: { S: "resign" }, holder: before?.["holder"] } };
    expect(after).toEqual({ ...before, request });
    const askedMs = world.time.nowMs;
    expect(await world.until(asked)).toBe(true);
    expect(world.time.nowMs - askedMs).toBeLessThan(12_000);
    await world.time.advance(5_000);
    expect(b.election.isLeader).toBe(true);
    expect(a.told.map(({ kind }) => kind)).toEqual(["elected", "resigned"]);
  });

  it("resolves to false if the leader does not resign within its lease", async () => {
    const [a, b] = [candidate(world), candidate(world)];
    void a.election.lead(() => new Promise(() => undefined));
    await world.time.advance(1_000);
    const askedMs = world.time.nowMs;
    expect(await world.until(b.election.requestResign())).toBe(false);
    expect(world.time.nowMs - askedMs).toBeGreaterThanOrEqual(52_000);
  });

  // rule: protocol 59
  it("has no effect when applied late: the request names an earlier grant", async () => {
    const [a, b] = [candidate(world), candidate(world)];
    leads(a);
    await world.time.advance(1_000);
    b.network.script(({ kind }, ordinal) => {
      if (kind !== "write") return undefined;
      return ordinal === 1
        ? { fault: "applied-late", delayMs: 30_000, unknownAfterMs: 1 }
        : { fault: "request-lost", unknownAfterMs: 1 };
    });
    const controller = new AbortController();
    const asked = b.election.requestResign({ signal: controller.signal });
    asked.catch(() => undefined);
    await world.time.advance(2_000);
    controller.abort(new Error("gave up"));
    await expect(world.until(asked)).rejects.toThrow("gave up");
    await world.until(a.election.resign());
    await world.time.advance(60_000);
    expect(kindsOf(a)).toEqual(["elected", "resigned", "elected"]);
    expect(b.network.injected).toMatchObject({ "applied-late": 1 });
    expect(electionRecord(world)?.["request"]).toBeUndefined();
  });

  it("rejects with `closed` when its client closes, and sends no more", async () => {
    const [a, b] = [candidate(world), candidate(world)];
    void a.election.campaign();
    await world.time.advance(1_000);
    const closed = { code: "closed", lockName: NAME };
    const asked = b.election.requestResign({ wait: "1h" });
    const ended = expect(asked).rejects.toMatchObject(closed);
    await world.time.advance(5_000);
    await world.until(b.locks.close());
    await world.until(ended, 1_000);
    await expect(world.until(b.election.requestResign(), 1_000)).rejects.toMatchObject(closed);
    expect(b.process.pendingTimers()).toBe(0);
  });

  it.each<[number, Fault["fault"], ErrorCode, string]>([
    [0, "throttled", "throttled", "could not be asked to resign"],
    // This process cannot tell one from the other.
    [0, "request-lost", "unreachable", "may not have been asked to resign"],
    [0, "response-lost", "unreachable", "may not have been asked to resign"],
    [1, "request-lost", "unreachable", "was asked to resign, but was not read since"],
  ])(
    "rejects with whether the leader was asked, if the table does not answer: writes served: %s, then %s",
    async (served, fault, code, phrase) => {
      const [a, b] = [candidate(world), candidate(world)];
      void a.election.lead(() => new Promise(() => undefined));
      await world.time.advance(1_000);
      b.network.script(({ kind }, ordinal) =>
        ordinal > (kind === "write" ? served : 1) ? ({ fault } as Fault) : undefined,
      );
      const error = await world.until(b.election.requestResign().catch((thrown: Error) => thrown));
      expect(error).toMatchObject({ code, message: expect.stringContaining(phrase) });
      const isAsked = served === 1 || fault === "response-lost";
      expect(electionRecord(world)?.["request"] !== undefined).toBe(isAsked);
    },
  );

  it("resolves to true without a leader, by a single read", async () => {
    const a = candidate(world);
    const asked = await world.requests(() => a.election.requestResign());
    expect(asked).toMatchObject({ result: true, reads: 1, writes: 0 });
  });
});

describe("a preferred candidate", () => {
  // rule: protocol 60
  it("asks a leader that is not preferred to resign, and is elected next", async () => {
    const plain = [candidate(world), candidate(world), candidate(world)];
    for (const one of plain) {
      leads(one);
      await world.time.advance(1_000);
    }
    const preferred = candidate(world, { preferred: true });
    leads(preferred);
    await world.time.advance(30_000);
    expect(preferred.election.isLeader).toBe(true);
    const told = toldBy([...plain, preferred]).map(({ kind }) => kind);
    expect(told).toEqual(["elected", "resigned", "elected"]);
  });

  // rule: protocol 60
  it("goes first after each leader that it has asked to resign", async () => {
    const plain = Array.from({ length: 8 }, () => candidate(world));
    for (const one of plain) {
      leads(one);
      await world.time.advance(1_000);
    }
    const rounds = 4;
    for (let round = 0; round < rounds; round += 1) {
      const preferred = candidate(world, { preferred: true });
      leads(preferred);
      await world.time.advance(30_000);
      expect(preferred.election.isLeader).toBe(true);
      preferred.process.kill();
      await world.time.advance(120_000);
    }
    expect(toldBy(plain).filter(({ kind }) => kind === "elected")).toHaveLength(rounds + 1);
  });

  it("is not asked to resign by another preferred candidate", async () => {
    const [a, b] = [candidate(world, { preferred: true }), candidate(world, { preferred: true })];
    leads(a);
    await world.time.advance(1_000);
    leads(b);
    await world.time.advance(120_000);
    expect(toldBy([a, b]).map(({ kind }) => kind)).toEqual(["elected"]);
  });

  it("ignores a preference while leading, and honours a later request to resign", async () => {
    const [a, b] = [candidate(world, { preferred: true }), candidate(world, { preferred: true })];
    leads(a);
    await world.time.advance(1_000);
    leads(b);
    await world.time.advance(60_000);
    const { holder, request } = electionRecord(world) as Item;
    expect(request).toEqual({ M: { kind: { S: "prefer" }, holder } });
    expect(await world.until(candidate(world).election.requestResign())).toBe(true);
    expect(kindsOf(a).slice(0, 2)).toEqual(["elected", "resigned"]);
  });

  it("delays the next leader by at most two polls after its death", async () => {
    const [plain, preferred] = [candidate(world), candidate(world, { preferred: true })];
    leads(plain);
    await world.time.advance(1_000);
    leads(preferred);
    await world.time.advance(2_000);
    preferred.process.kill();
    await world.time.advance(120_000);
    expect(plain.election.isLeader).toBe(true);
    expect(kindsOf(plain)).toEqual(["elected", "resigned", "elected"]);
  });
});

describe("observe", () => {
  async function watched(one: Standing): Promise<LeaderInfo[]> {
    const seen: LeaderInfo[] = [];
    void (async () => {
      for await (const leadership of one.election.observe()) seen.push(leadership);
    })();
    return seen;
  }

  it("yields the leader, at first and after each change of leader or value", async () => {
    const [a, b, c] = [candidate(world), candidate(world), candidate(world)];
    const seen = await watched(c);
    await world.time.advance(6_000);
    leads(a);
    await world.time.advance(6_000);
    await world.until(a.election.proclaim("hello"));
    leads(b);
    await world.time.advance(6_000);
    await world.until(a.election.resign());
    await world.time.advance(12_000);
    expect(seen.map(({ holder, value }) => [holder, value])).toEqual(
      expect.arrayContaining([
        [undefined, undefined],
        [a.told[0] && expect.any(String), undefined],
        [expect.any(String), "hello"],
      ]),
    );
    expect(seen.at(-1)).toMatchObject({ term: b.election.term?.fence });
    const terms = seen.flatMap(({ term }) => (term === undefined ? [] : [term]));
    expect(terms).toEqual([...terms].sort((x, y) => Number(x - y)));
    await world.until(c.locks.close());
  });

  it("drops a lower term than the last term yielded", async () => {
    const [a, c] = [candidate(world), candidate(world)];
    leads(a);
    await world.time.advance(1_000);
    const key = { pk: { S: `leader#${NAME}` }, sk: { S: "lease" } };
    const early = electionRecord(world) ?? {};
    const seen = await watched(c);
    await world.time.advance(6_000);
    await world.until(a.election.resign());
    await world.time.advance(30_000);
    const count = seen.length;
    const late = electionRecord(world) ?? {};
    world.table.putItem(key, early);
    await world.time.advance(5_000);
    world.table.putItem(key, late);
    await world.time.advance(10_000);
    expect(count).toBeGreaterThan(2);
    expect(seen.slice(count).map(({ term }) => term)).not.toContain(seen[0]?.term);
  });
});

describe("options of elections", () => {
  it.each([
    [{}, 52_000, 10_000, 5_000],
    [{ failover: "60s" }, 52_000, 10_000, 5_000],
    [{ failover: "6s" }, 5_200, 1_000, 500],
    [{ lease: "60s" }, 60_000, 12_000, 6_000],
    [{ lease: "60s", renew: "20s", poll: "30s" }, 60_000, 20_000, 30_000],
    [{ poll: "2s" }, 52_000, 10_000, 2_000],
  ])(
    "%j resolves to a lease of %i, renewals of %i and a poll of %i ms",
    (options, leaseMs, renewMs, pollMs) => {
      const { election } = candidate(world, options);
      expect(election.candidate.settings).toMatchObject({ leaseMs, renewMs, pollMs });
    },
  );

  it.each([
    [{ failover: "60s", lease: "30s" }, "failover"],
    [{ lease: "10s", renew: "6s" }, "lease"],
    [{ failover: "1ms" }, "failover"],
    [{ poll: 0 }, "poll"],
    [{ preferred: 1 }, "preferred"],
    [{ owner: "" }, "owner"],
  ])("refuses %j, and names the option", (options, word) => {
    let thrown: HoldfastError | undefined;
    try {
      candidate(world, options as object);
    } catch (error) {
      thrown = error as HoldfastError;
    }
    expect(thrown).toMatchObject({ code: "invalid-argument" });
    expect(thrown?.message).toContain(word);
  });
});
