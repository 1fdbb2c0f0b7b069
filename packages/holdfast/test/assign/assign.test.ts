import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { expectThrown } from "../../../../test/support/errors.js";
import { type Inhabitant, World } from "../../../../test/support/world.js";
import { interruptHolder } from "../../src/admin/index.js";
import {
  type Assignment,
  type AssignmentChange,
  type AssignOptions,
  assign,
  inspectAssignment,
  slot,
} from "../../src/assign/index.js";
import { type Holdfast, HoldfastError, type Lease, mutex } from "../../src/index.js";
import { announce } from "../../src/requests/index.js";

const PERIOD_MS = 10_000;
// By the clocks of a session of three periods, watched with drift, and seen at the next look.
const TAKEOVER_MS = 3 * PERIOD_MS * 1.02 + PERIOD_MS;

interface Entry {
  readonly name: string;
  readonly who: string;
  readonly fromMs: number;
  untilMs: number | undefined;
}

/** Notes each run, and throws if a name runs twice at once. */
class Ledger {
  readonly entries: Entry[] = [];
  readonly #open = new Map<string, Entry>();
  readonly world: World;

  constructor(world: World) {
    this.world = world;
  }

  begin(name: string, who: string): Entry {
    const other = this.#open.get(name);
    if (other !== undefined) throw new Error(`${name} runs twice: ${other.who} and ${who}`);
    const entry = { name, who, fromMs: this.world.time.nowMs, untilMs: undefined };
    this.entries.push(entry);
    this.#open.set(name, entry);
    return entry;
  }

  end(entry: Entry): void {
    entry.untilMs = this.world.time.nowMs;
    if (this.#open.get(entry.name) === entry) this.#open.delete(entry.name);
  }

  get running(): Map<string, string> {
    return new Map([...this.#open].map(([name, { who }]) => [name, who]));
  }

  /** The times between two runs of a name, for each run that began after `fromMs`. */
  pausesMs(fromMs = 0): number[] {
    const last = new Map<string, number>();
    const pauses: number[] = [];
    for (const { name, fromMs: begunMs, untilMs } of this.entries) {
      const before = last.get(name);
      if (before !== undefined && begunMs >= fromMs) pauses.push(begunMs - before);
      last.set(name, untilMs ?? Number.POSITIVE_INFINITY);
    }
    return pauses;
  }
}

interface Member {
  readonly who: string;
  readonly it: Inhabitant;
  readonly assignment: Assignment;
  readonly changes: AssignmentChange[];
}

let world: World;
let ledger: Ledger;
let members: Member[];
let twice: unknown[];

beforeEach(() => {
  // As in DynamoDB, answers have a Date.
  world = new World({ dates: (ms) => Math.floor(ms / 1_000) * 1_000 });
  ledger = new Ledger(world);
  members = [];
  twice = [];
});

afterEach(() => expect(twice).toEqual([]));

const namesOf = (count: number): string[] =>
  Array.from({ length: count }, (_, at) => `tenant-${at}`);

function runOf(who: string, stopsInMs = 0) {
  return async (name: string, { signal }: Lease): Promise<void> => {
    let entry: Entry;
    try {
      entry = ledger.begin(name, who);
    } catch (error) {
      twice.push(error);
      return;
    }
    if (!signal.aborted) {
      await new Promise<void>((resolve) =>
        signal.addEventListener("abort", () => resolve(), { once: true }),
      );
    }
    if (stopsInMs > 0) await world.time.sleep(stopsInMs);
    ledger.end(entry);
  };
}

function member(options: Partial<AssignOptions> = {}, stopsInMs = 0): Member {
  const who = `m${members.length}`;
  const it = world.inhabitant();
  const run = options.run ?? runOf(who, stopsInMs);
  const assignment = assign(it.locks, "webhooks", {
    names: namesOf(20),
    owner: who,
    ...options,
    run,
  });
  const changes: AssignmentChange[] = [];
  assignment.onChange((change) => changes.push(change));
  const made = { who, it, assignment, changes };
  members.push(made);
  return made;
}

async function startAll(count: number, options?: Partial<AssignOptions>, stopsInMs?: number) {
  const all = Array.from({ length: count }, () => member(options, stopsInMs));
  await world.until(Promise.all(all.map(({ assignment }) => assignment.start())));
  return all;
}

const counts = (of = members): number[] => of.map(({ assignment }) => assignment.mine.length);

/** Stops a process for good: its timers, and its network. */
function kill({ it }: Member): void {
  it.process.kill();
}

describe("assign", () => {
  it("runs every name once, on the only member", async () => {
    const [one] = await startAll(1);
    expect(one?.assignment.mine.length).toBe(20);
    await world.time.advance(1_000);
    expect(ledger.running.size).toBe(20);
  });

  it("spreads 1,000 names over ten members within a period, evenly", async () => {
    const fromMs = world.time.nowMs;
    await startAll(10, { names: namesOf(1_000) });
    await world.time.advance(fromMs + PERIOD_MS - world.time.nowMs);
    expect(ledger.running.size).toBe(1_000);
    for (const count of counts()) {
      expect(count).toBeGreaterThanOrEqual(80);
      expect(count).toBeLessThanOrEqual(120);
    }
  });

  // rule: protocol 139
  it("gives an eleventh member an eleventh, and moves nothing else", async () => {
    await startAll(10, { names: namesOf(1_000) });
    await world.time.advance(2 * PERIOD_MS);
    const before = ledger.running;
    await startAll(1, { names: namesOf(1_000) });
    await world.time.advance(6 * PERIOD_MS);
    const after = ledger.running;
    const moved = [...before].filter(([name, who]) => after.get(name) !== who);
    expect(after.size).toBe(1_000);
    expect(moved.every(([name]) => after.get(name) === "m10")).toBe(true);
    expect(moved.length).toBeGreaterThanOrEqual(80);
    expect(moved.length).toBeLessThanOrEqual(91);
    // The run of a name ends, and begins elsewhere within a poll.
    expect(Math.max(...ledger.pausesMs())).toBeLessThan(2_600);
  });

  it("moves 300 names at about a unit a write, although each ask is in the one record of a session", async () => {
    await startAll(1, { names: namesOf(600) });
    await world.time.advance(2 * PERIOD_MS);
    const before = world.table.counts;
    await startAll(1, { names: namesOf(600) });
    await world.time.advance(2 * PERIOD_MS);
    const { writes, writeUnits } = world.table.counts;
    expect(counts()).toEqual([300, 300]);
    expect(writeUnits - before.writeUnits).toBeLessThan(1.5 * (writes - before.writes));
    expect(Math.max(...ledger.pausesMs())).toBeLessThan(2_600);
  });

  it("moves 160 names within 6 seconds, also if the holder hears the first ask before it sees the new member", async () => {
    await startAll(1, { names: namesOf(320) });
    // The other one joins a second after a look of the holder.
    await world.time.advance(2 * PERIOD_MS + 1_000);
    await startAll(1, { names: namesOf(320) });
    await world.time.advance(2.5 * PERIOD_MS);
    expect(counts()).toEqual([160, 160]);
    const movesMs = ledger.entries.filter(({ who }) => who === "m1").map(({ fromMs }) => fromMs);
    expect(Math.max(...movesMs) - Math.min(...movesMs)).toBeLessThan(6_000);
  });

  it("hands over 300 names when a member stops, each within a poll", async () => {
    const [first] = await startAll(2, { names: namesOf(600) });
    await world.time.advance(2 * PERIOD_MS);
    await world.until(first?.assignment.stop() ?? Promise.resolve());
    await world.time.advance(PERIOD_MS);
    expect(ledger.running.size).toBe(600);
    expect(Math.max(...ledger.pausesMs())).toBeLessThan(2_600);
  });

  it("hands over within stopTimeout and a look when a member stops, each name within a poll", async () => {
    const [first] = await startAll(5, { names: namesOf(100), stopTimeout: "5s" }, 2_000);
    await world.time.advance(2 * PERIOD_MS);
    const had = first?.assignment.mine ?? [];
    expect(had.length).toBe(20);
    const fromMs = world.time.nowMs;
    await world.until(first?.assignment.stop() ?? Promise.resolve());
    await world.time.advance(fromMs + PERIOD_MS + 5_000 - world.time.nowMs);
    expect(had.filter((name) => ledger.running.has(name)).length).toBe(20);
    expect(ledger.running.size).toBe(100);
    expect(Math.max(...ledger.pausesMs(fromMs))).toBeLessThan(2_600);
    expect(first?.assignment.mine).toEqual([]);
    expect(first?.changes.filter(({ kind }) => kind === "moved").length).toBe(20);
  });

  it("stops the last member at once", async () => {
    const [one] = await startAll(1, {}, 2_000);
    const fromMs = world.time.nowMs;
    await world.until(one?.assignment.stop() ?? Promise.resolve());
    expect(world.time.nowMs - fromMs).toBeLessThan(2_200);
    expect(one?.changes.filter(({ kind }) => kind === "revoked").length).toBe(20);
    expect(
      world.table.item({ pk: { S: "queue#webhooks" }, sk: { S: "member/x" } }),
    ).toBeUndefined();
  });

  it("gives a name up after stopTimeout although its run goes on, and says so", async () => {
    const [first, second] = await startAll(2, { stopTimeout: "3s" }, 0);
    await world.time.advance(2 * PERIOD_MS);
    const other = member({
      names: ["tenant-0"],
      stopTimeout: "3s",
      run: () => new Promise(() => undefined),
    });
    await world.until(Promise.all([first, second].map((one) => one?.assignment.stop())));
    await world.until(other.assignment.start());
    await world.time.advance(1_000);
    const fromMs = world.time.nowMs;
    await world.until(other.assignment.stop());
    expect(world.time.nowMs - fromMs).toBeGreaterThanOrEqual(3_000);
    expect(world.time.nowMs - fromMs).toBeLessThan(3_300);
    expect(other.it.reported.map(({ message }) => message).join()).toContain(
      "has not ended 3000 ms",
    );
    expect(world.record("webhooks/tenant-0")).not.toHaveProperty("holder");
  });

  it("takes over what a killed member had when its session is over", async () => {
    const all = await startAll(5, { names: namesOf(100) });
    await world.time.advance(3 * PERIOD_MS);
    const killed = all[2] as Member;
    const had = killed.assignment.mine;
    const killedMs = world.time.nowMs;
    kill(killed);
    // A killed process runs nothing.
    for (const entry of ledger.entries) if (entry.who === killed.who) ledger.end(entry);
    await world.time.advance(TAKEOVER_MS + 2 * PERIOD_MS);
    expect(ledger.running.size).toBe(100);
    const begun = ledger.entries.filter(
      ({ name, fromMs }) => had.includes(name) && fromMs > killedMs,
    );
    expect(begun.length).toBe(20);
    const slowestMs = Math.max(...begun.map(({ fromMs }) => fromMs)) - killedMs;
    expect(slowestMs).toBeLessThan(TAKEOVER_MS + PERIOD_MS);
    const rest = all.filter((one) => one !== killed);
    for (const count of counts(rest)) expect(Math.abs(count - 25)).toBeLessThanOrEqual(5);
  });

  it("costs a member one write, one query and one read a period, whatever the number of names", async () => {
    for (const count of [10, 1_000]) {
      world = new World({ dates: (ms) => Math.floor(ms / 1_000) * 1_000 });
      ledger = new Ledger(world);
      members = [];
      await startAll(10, { names: namesOf(count) });
      await world.time.advance(6 * PERIOD_MS);
      const { counts: before } = world.table;
      await world.time.advance(6 * PERIOD_MS);
      const { counts: after } = world.table;
      const a60s = Object.entries(after).map(([key, much]) => [
        key,
        much - before[key as keyof typeof before],
      ]);
      expect(Object.fromEntries(a60s)).toEqual({
        ...{ writes: 60, refusedWrites: 0, transactions: 0, scans: 0, removals: 0 },
        ...{ consistentReads: 0, eventualReads: 60, queries: 60 },
        // The ten rows, and a session, half a unit each.
        ...{ writeUnits: 60, readUnits: 60 },
      });
    }
  });

  it("asks again for names that grow and shrink, come twice, or fail to come", async () => {
    let answer: () => readonly string[] = () => namesOf(10);
    const [one, two] = await startAll(2, { names: () => answer() });
    expect(ledger.running.size).toBe(10);
    answer = () => [...namesOf(20), ...namesOf(20)];
    await world.time.advance(PERIOD_MS + 500);
    expect(ledger.running.size).toBe(20);
    answer = () => {
      throw new Error("no answer");
    };
    await world.time.advance(PERIOD_MS);
    expect(ledger.running.size).toBe(20);
    expect(one?.it.reported.map(({ message }) => message).join()).toContain(
      "failed (no answer). The last 20 names stay",
    );
    answer = () => [7 as unknown as string];
    await world.time.advance(PERIOD_MS);
    expect(ledger.running.size).toBe(20);
    answer = () => namesOf(4);
    await world.time.advance(PERIOD_MS + 500);
    expect([...ledger.running.keys()].sort()).toEqual(namesOf(4));
    expect(counts().sort()).toEqual([2, 2]);
    const revoked = [one, two].flatMap((each) => each?.changes ?? []);
    expect(revoked.filter(({ kind }) => kind === "revoked").length).toBe(16);
  });

  it("keeps the last names while their function hangs", async () => {
    let isHanging = false;
    await startAll(2, {
      names: () => (isHanging ? new Promise<string[]>(() => undefined) : namesOf(10)),
    });
    isHanging = true;
    await world.time.advance(4 * PERIOD_MS);
    expect(ledger.running.size).toBe(10);
  });

  it("asks for no names once it stops", async () => {
    let asked = 0;
    const names = (): string[] => {
      asked += 1;
      throw new Error("no names");
    };
    const { assignment } = member({ names });
    const started = assignment.start();
    await world.until(Promise.allSettled([started, assignment.stop()]));
    expect(asked).toBe(0);
  });

  it.each(["stops", "stops while it asks", "stops with its client"])(
    "does not wait for its names when it %s",
    async (how) => {
      const { locks } = world.inhabitant();
      let never: Assignment | undefined;
      const names = (): Promise<string[]> => {
        if (how === "stops while it asks") void never?.stop();
        return new Promise(() => undefined);
      };
      never = assign(locks, "never", { names, run: () => undefined, period: "10m" });
      const starting = never.start().catch((error: unknown) => error);
      await world.time.advance(1_000);
      const ends = how === "stops with its client" ? locks.close() : never.stop();
      await world.until(ends, 1_000);
      expect(await world.until(starting, 1_000)).toMatchObject({ code: "closed" });
      expect(world.table.items()).toEqual([]);
    },
  );

  it.each(["5", true, null, [], Number.NaN, -1])("refuses the weight %j", (weight) => {
    const { locks } = world.inhabitant();
    const run = (): void => undefined;
    const options = { names: ["a"], run, weight: weight as unknown as number };
    expect(() => assign(locks, "webhooks", options)).toThrow(
      expect.objectContaining({ code: "invalid-argument" }),
    );
  });

  it("shares by weight, and gives a member of weight 0 nothing", async () => {
    const all = [member({ weight: 3 }), member({ weight: 1 }), member({ weight: 0 })];
    await world.until(Promise.all(all.map(({ assignment }) => assignment.start())));
    expect(counts()).toEqual([15, 5, 0]);
  });

  it("reports names that no member may take, once", async () => {
    const [one] = await startAll(1, { weight: 0 });
    await world.time.advance(4 * PERIOD_MS);
    expect(one?.it.reported.map(({ message }) => message)).toEqual([
      'None of the 20 names of assignment "webhooks" runs: every member has the weight 0.',
    ]);
  });

  it("runs a name again after its run has returned, a period later", async () => {
    const begunMs: number[] = [];
    const run = async (): Promise<void> => void begunMs.push(world.time.nowMs);
    const [one] = await startAll(1, { names: ["a"], run });
    const fromMs = begunMs[0] ?? 0;
    await world.time.advance(3 * PERIOD_MS);
    expect(begunMs.slice(0, 4)).toEqual([0, 1, 2, 3].map((at) => fromMs + at * PERIOD_MS));
    expect(one?.assignment.mine).toEqual(["a"]);
  });

  it("gives up a name whose run releases its lease, runs it again, and stops", async () => {
    let runs = 0;
    const run = async (_: string, lease: Lease): Promise<void> => {
      runs += 1;
      await lease.release();
    };
    const [one] = await startAll(1, { names: ["a"], run });
    await world.time.advance(3 * PERIOD_MS);
    expect(runs).toBeGreaterThanOrEqual(3);
    await world.until(one?.assignment.stop() ?? Promise.resolve());
    expect(one?.it.reported).toEqual([]);
  });

  it("refuses a second assignment of the group in one client, until the first has stopped", async () => {
    const [one] = await startAll(1);
    const second = assign(one?.it.locks as never, "webhooks", { names: [], run: runOf("second") });
    const refused = { code: "invalid-argument" };
    await expect(world.until(second.start())).rejects.toMatchObject(refused);
    await world.until(second.stop());
    await world.until(one?.assignment.stop() ?? Promise.resolve());
    const third = assign(one?.it.locks as never, "webhooks", { names: ["a"], run: runOf("third") });
    await world.until(third.start());
    expect(third.mine).toEqual(["a"]);
    await world.until(third.stop());
  });

  it("cannot be started again after its stop", async () => {
    const [one] = await startAll(1);
    await expect(one?.assignment.start()).resolves.toBeUndefined();
    await world.until(one?.assignment.stop() ?? Promise.resolve());
    await expect(one?.assignment.start()).rejects.toMatchObject({ code: "closed" });
  });

  it("refuses a listener that is no function", () => {
    const { assignment } = member();
    for (const wrong of [undefined, 5, {}]) {
      const refused = { code: "invalid-argument", mentions: ["onChange()"] } as const;
      expectThrown(() => assignment.onChange(wrong as never), refused);
    }
  });

  it("reports the errors of its listeners, also of async ones", async () => {
    const { it: host, assignment } = member({ names: () => ["a"] });
    assignment.onChange(() => {
      throw new Error("no pager");
    });
    assignment.onChange(() => Promise.reject(new Error("no answer")));
    await world.until(assignment.start());
    await world.time.advance(5_000);
    expect(host.reported.map(({ cause }) => (cause as Error).message)).toEqual(
      expect.arrayContaining(["no pager", "no answer"]),
    );
  });

  it("backs off while a run throws, reports it, and keeps the name", async () => {
    const begunMs: number[] = [];
    const run = async (): Promise<void> => {
      begunMs.push(world.time.nowMs);
      throw new Error("broken");
    };
    const [one] = await startAll(1, { names: ["a"], run });
    await world.time.advance(600_000);
    const pauses = begunMs.slice(1).map((ms, at) => ms - (begunMs[at] ?? 0));
    expect(pauses[0]).toBeLessThan(1_300);
    expect(pauses.length).toBeLessThan(12);
    expect(Math.max(...pauses)).toBeGreaterThan(100_000);
    expect(one?.assignment.mine).toEqual(["a"]);
    expect(one?.changes.filter(({ kind }) => kind === "idle").length).toBe(begunMs.length);
    expect(one?.it.reported[0]?.message).toMatch(
      /^The run of "a" in assignment "webhooks" threw \(broken\)/,
    );
    expect(one?.it.reported[0]?.cause).toMatchObject({ message: "broken" });
  });

  it("says what a run threw that is no error", async () => {
    const [one] = await startAll(1, { names: ["a"], run: () => Promise.reject("broken") });
    await world.time.advance(1_000);
    expect(one?.it.reported[0]?.message).toMatch(/ threw \(broken\), and runs again in /);
  });

  it("goes on if a run throws an object that cannot be read", async () => {
    const unreadable = {
      get message(): string {
        throw new Error("no message");
      },
    };
    let runs = 0;
    const run = (): Promise<never> => {
      runs += 1;
      return Promise.reject(unreadable);
    };
    const [one] = await startAll(1, { names: ["a"], run });
    await world.time.advance(10_000);
    expect(runs).toBeGreaterThan(1);
    expect(one?.it.reported[0]?.cause).toBe(unreadable);
  });

  it("gives a name that its run fails to another member that asks for it", async () => {
    const run = async (): Promise<void> => {
      throw new Error("broken");
    };
    const [one] = await startAll(1, { names: namesOf(4), run });
    await world.time.advance(30_000);
    await startAll(1, { names: namesOf(4) });
    await world.time.advance(3 * PERIOD_MS);
    expect(one?.assignment.mine.length).toBe(2);
    expect(ledger.running.size).toBe(2);
  });

  it("hears a member that asks for a name after somebody else, who is no member, has asked", async () => {
    const names = namesOf(4);
    await startAll(1, { names });
    const stranger = world.inhabitant({ owner: "a stranger" });
    const asked = names.map((name) =>
      mutex(stranger.locks, `webhooks/${name}`).acquire({ ifHeld: announce, wait: "20s" }),
    );
    await world.until(Promise.allSettled(asked));
    await startAll(1, { names });
    await world.time.advance(3 * PERIOD_MS);
    expect(counts()).toEqual([2, 2]);
  });

  it("reports a name whose lock somebody else has, and takes it when it is free", async () => {
    const stranger = world.inhabitant({ owner: "a stranger" });
    const lease = await world.until(mutex(stranger.locks, "webhooks/tenant-3").acquire());
    const [one] = await startAll(1);
    expect(ledger.running.size).toBe(19);
    await world.time.advance(8 * PERIOD_MS);
    expect(one?.changes.find(({ kind }) => kind === "idle")?.error).toMatchObject({
      message: expect.stringContaining("a stranger, who is no member, has its lock"),
    });
    await world.until(lease.release());
    await world.time.advance(3 * PERIOD_MS);
    expect(ledger.running.size).toBe(20);
  });

  it("stops a run that an operator interrupts, and runs the name again", async () => {
    const [one] = await startAll(2);
    await world.time.advance(2 * PERIOD_MS);
    const name = one?.assignment.mine[0] ?? "";
    const operator = world.inhabitant();
    await world.until(interruptHolder(operator.locks, `webhooks/${name}`, { by: "ann" }));
    await world.time.advance(PERIOD_MS + 500);
    const told = one?.changes.find(({ kind }) => kind === "revoked");
    expect(told).toMatchObject({ name, error: { code: "interrupted" } });
    await world.time.advance(PERIOD_MS + 500);
    expect(ledger.running.size).toBe(20);
  });

  it("runs a name that its member has given up at the one that should have it", async () => {
    const options = { names: namesOf(200) };
    await startAll(3, options);
    await startAll(1, options);
    await world.time.advance(6 * PERIOD_MS);
    const operator = world.inhabitant();
    const inspected = () => world.until(inspectAssignment(operator.locks, "webhooks"));
    // Members in balance leave a name where it runs, also if another one should have it.
    const away = (await inspected()).names.find(({ owner, shouldBe }) => owner !== shouldBe);
    const name = away?.name ?? "";
    expect(away?.owner).toMatch(/^m/);
    await world.until(interruptHolder(operator.locks, `webhooks/${name}`, { by: "ann" }));
    await world.time.advance(4 * PERIOD_MS);
    expect(ledger.running.get(name)).toBe(away?.shouldBe);
  });

  // rule: protocol 141
  it("runs a name again only after its former run has ended", async () => {
    let [open, most, begun] = [0, 0, 0];
    const run = async (): Promise<void> => {
      begun += 1;
      open += 1;
      most = Math.max(most, open);
      await world.time.sleep(60_000);
      open -= 1;
    };
    await startAll(1, { names: ["a"], run, stopTimeout: "2s" });
    const operator = world.inhabitant();
    await world.until(interruptHolder(operator.locks, "webhooks/a", { by: "ann" }));
    await world.time.advance(50_000);
    expect(world.record("webhooks/a")).not.toHaveProperty("holder");
    expect(begun).toBe(1);
    await world.time.advance(30_000);
    expect(begun).toBe(2);
    expect(most).toBe(1);
  });

  // rule: protocol 141
  it("runs a name of a run that never ends only when the member has stopped, and says so", async () => {
    const run = () => new Promise<void>(() => undefined);
    const [one, two] = await startAll(2, { names: ["a"], run, stopTimeout: "2s" });
    const all = [one, two] as [Member, Member];
    const [has, other] = one?.assignment.mine.length === 1 ? all : all.toReversed();
    await world.until(interruptHolder(world.inhabitant().locks, "webhooks/a", { by: "ann" }));
    await world.time.advance(10 * PERIOD_MS);
    expect(all.map(({ assignment }) => assignment.mine)).toEqual([[], []]);
    expect(has?.it.reported.map(({ message }) => message).join()).toContain("only when this run");
    await world.until(has?.assignment.stop() ?? Promise.resolve());
    await world.time.advance(3 * PERIOD_MS);
    expect(other?.assignment.mine).toEqual(["a"]);
  });

  it("joins again as another member after the loss of its session", async () => {
    const [one, two] = await startAll(2);
    await world.time.advance(2 * PERIOD_MS);
    one?.it.network.script(() => ({ fault: "request-lost" }));
    await world.time.advance(60_000);
    expect(one?.assignment.mine).toEqual([]);
    expect(two?.assignment.mine.length).toBe(20);
    expect(one?.changes.filter(({ kind }) => kind === "lost").length).toBe(10);
    one?.it.network.clear();
    await world.time.advance(6 * PERIOD_MS);
    expect(counts()).toEqual([10, 10]);
    expect(ledger.running.size).toBe(20);
  });

  it("writes its row again if it is gone", async () => {
    const [one, two] = await startAll(2);
    await world.time.advance(2 * PERIOD_MS);
    const keys = world.table.log
      .map(({ key }) => key)
      .filter(({ sk }) => /member/.test(JSON.stringify(sk)));
    const rows = keys.filter((key) => world.table.item(key) !== undefined);
    expect(new Set(rows.map((key) => JSON.stringify(key))).size).toBe(2);
    world.table.deleteItem(rows[0] as NonNullable<(typeof rows)[0]>);
    await world.time.advance(3 * PERIOD_MS);
    expect(rows.every((key) => world.table.item(key) !== undefined)).toBe(true);
    expect([one, two].map((each) => each?.assignment.mine.length)).toEqual([10, 10]);
    const found = await world.until(inspectAssignment(world.inhabitant().locks, "webhooks"));
    expect(found.members.map(({ has, shouldHave }) => [has, shouldHave])).toEqual([
      [10, 10],
      [10, 10],
    ]);
  });

  it("rejects the start without a permission, and leaves nothing behind", async () => {
    const one = member();
    const error = new HoldfastError("access-denied", "no Query");
    one.it.network.next("query", { fault: "misconfigured", error });
    const started = world.until(one.assignment.start());
    await expect(started).rejects.toMatchObject({ code: "access-denied" });
    expect(world.table.counts.writes).toBe(0);
    expect(one.it.process.pendingTimers()).toBe(0);
    await expect(world.until(one.assignment.stop())).resolves.toBeUndefined();
  });

  it("tells of a permission that is gone once, and keeps what it has", async () => {
    const [one] = await startAll(1);
    const error = new HoldfastError("access-denied", "no Query");
    one?.it.network.next("query", { fault: "misconfigured", error }, 5);
    await world.time.advance(5 * PERIOD_MS);
    expect(one?.it.reported.map(({ code }) => code)).toEqual(["access-denied"]);
    expect(one?.assignment.mine.length).toBe(20);
  });

  it.each(["query", "write"] as const)(
    "tells of a refused %s once, also if a new session needs it, and again when it is refused anew",
    async (kind) => {
      const [one] = await startAll(1);
      for (let times = 1; times <= 2; times += 1) {
        const error = new HoldfastError("access-denied", "not now");
        one?.it.network.script((request) =>
          request.kind === kind ? { fault: "misconfigured", error } : undefined,
        );
        await world.time.advance(9 * PERIOD_MS);
        expect(one?.it.reported.length).toBe(times);
        one?.it.network.clear();
        await world.time.advance(20 * PERIOD_MS);
      }
    },
  );

  it("tells once of each reason for which names fail, and again once it was over", async () => {
    const error = new HoldfastError("foreign-record", "not ours");
    let names = ["foreign", "silent-1", "well"];
    const one = member({ names: () => names });
    let silent = /silent-1/;
    one.it.network.script((request) => {
      const key = request.kind === "write" ? JSON.stringify(request.write.key) : "";
      if (/foreign/.test(key)) return { fault: "misconfigured", error };
      return silent.test(key) ? { fault: "request-lost" } : undefined;
    });
    await world.until(one.assignment.start());
    const codes = () => one.it.reported.map(({ code }) => code).toSorted();
    await world.time.advance(100 * PERIOD_MS);
    expect(one.assignment.mine).toEqual(["well"]);
    expect(codes()).toEqual(["foreign-record", "unreachable"]);
    silent = /silent-2/;
    await world.time.advance(10 * PERIOD_MS);
    expect(one.assignment.mine.toSorted()).toEqual(["silent-1", "well"]);
    names = [...names, "silent-2"];
    await world.time.advance(100 * PERIOD_MS);
    expect(codes()).toEqual(["foreign-record", "unreachable", "unreachable"]);
  });

  it.each([false, true])(
    "tells once that the table answers nothing, with another call that waits: %s",
    async (waits) => {
      const [one] = await startAll(1, { names: namesOf(2) });
      await world.time.advance(6 * PERIOD_MS);
      one?.it.network.script(() => ({ fault: "request-lost" }));
      if (waits)
        mutex(one?.it.locks as Holdfast, "a")
          .acquire({ wait: "1h" })
          .catch(() => undefined);
      await world.time.advance(60 * PERIOD_MS);
      expect(one?.it.reported.map(({ code }) => code)).toEqual(["unreachable"]);
    },
  );

  it("stops with its client, which waits for the runs", async () => {
    const [one, two] = await startAll(2, {}, 2_000);
    const fromMs = world.time.nowMs;
    await world.until(one?.it.locks.close() ?? Promise.resolve());
    expect(world.time.nowMs - fromMs).toBeGreaterThanOrEqual(2_000);
    expect(world.time.nowMs - fromMs).toBeLessThan(2_200);
    expect(one?.it.reported).toEqual([]);
    expect(ledger.running.size).toBe(10);
    await world.time.advance(PERIOD_MS + 500);
    expect(two?.assignment.mine.length).toBe(20);
    expect(one?.it.process.pendingTimers()).toBe(0);
  });

  // rule: protocol 45
  it("calls no run again after a pause longer than the lease", async () => {
    const begun: { isHeld: boolean; isAborted: boolean }[] = [];
    const run = (_: string, { isHeld, signal }: Lease): void => {
      begun.push({ isHeld, isAborted: signal.aborted });
    };
    for (let atMs = 1_000; atMs < 3 * PERIOD_MS; atMs += 1_000) {
      const [one] = await startAll(1, { names: namesOf(3), run });
      await world.time.advance(atMs);
      one?.it.process.pause();
      await world.time.advance(6 * PERIOD_MS);
      one?.it.process.resume({ first: "timers" });
      await world.time.advance(PERIOD_MS);
      await world.until(one?.assignment.stop() ?? Promise.resolve());
    }
    expect(begun.length).toBeGreaterThan(100);
    expect(begun.filter(({ isHeld, isAborted }) => !isHeld || isAborted)).toEqual([]);
  });

  // rule: protocol 138
  it("keeps the names of runs that outlast `closeTimeout`, but not `stopTimeout`", async () => {
    const [one, two] = await startAll(2, { stopTimeout: "20s" }, 18_000);
    const closed = one?.it.locks.close();
    await world.until(closed?.catch(() => undefined) ?? Promise.resolve());
    await world.time.advance(3 * PERIOD_MS);
    expect(twice).toEqual([]);
    await world.time.advance(4 * PERIOD_MS);
    expect(two?.assignment.mine.length).toBe(20);
    expect(one?.it.process.pendingTimers()).toBe(0);
    expect(one?.it.reported).toEqual([]);
  });

  it("survives a rolling deploy of ten members: no name runs twice, and each pauses for at most a poll and its stop", async () => {
    const options = { names: namesOf(200), stopTimeout: "5s" };
    const old = await startAll(10, options, 500);
    await world.time.advance(2 * PERIOD_MS);
    const fromMs = world.time.nowMs;
    for (const leaving of old) {
      await startAll(1, options, 500);
      await world.time.advance(2 * PERIOD_MS);
      await world.until(leaving.assignment.stop());
      await world.time.advance(2 * PERIOD_MS);
    }
    await world.time.advance(4 * PERIOD_MS);
    expect(ledger.running.size).toBe(200);
    const pausesMs = ledger.pausesMs(fromMs);
    expect(pausesMs.length).toBeLessThan(500);
    // A name is given to a member that waits for it; rarely that one has just given up, and another one finds it free.
    expect(pausesMs.filter((ms) => ms > 3_600).length).toBeLessThan(pausesMs.length / 50);
    expect(Math.max(...pausesMs)).toBeLessThan(PERIOD_MS + 3_600);
    for (const count of counts(members.slice(10)))
      expect(Math.abs(count - 20)).toBeLessThanOrEqual(4);
  });
});

describe("slot", () => {
  it("gives each process a number of its own", async () => {
    const all = Array.from({ length: 8 }, () => world.inhabitant());
    const slots = await world.until(
      Promise.all(all.map(({ locks }) => slot(locks, "workers", { of: 8 }))),
    );
    expect(slots.map(({ number }) => number).sort()).toEqual([0, 1, 2, 3, 4, 5, 6, 7]);
    expect(slots.every(({ isHeld }) => isHeld)).toBe(true);
    const late = world.inhabitant();
    const refused = slot(late.locks, "workers", { of: 8, wait: "3s" });
    await expect(world.until(refused)).rejects.toMatchObject({ code: "not-acquired" });
    const waiting = slot(late.locks, "workers", { of: 8 });
    await world.time.advance(5_000);
    await world.until(slots[3]?.release() ?? Promise.resolve());
    expect((await world.until(waiting)).number).toBe(slots[3]?.number);
  });

  it("ends with its wait, however many numbers there are", async () => {
    const latency = { requestMs: 50, responseMs: 50 };
    const { locks } = world.inhabitant();
    for (let at = 0; at < 100; at += 1) await world.until(slot(locks, "workers", { of: 100 }));
    const late = world.inhabitant({ latency });
    const fromMs = world.time.nowMs;
    const refused = slot(late.locks, "workers", { of: 100, wait: "2s" });
    await expect(world.until(refused)).rejects.toMatchObject({ code: "not-acquired" });
    expect(world.time.nowMs - fromMs).toBeLessThanOrEqual(2_100);
    let writes = 0;
    late.network.script(({ kind }) => {
      if (kind === "write") writes += 1;
      return undefined;
    });
    const once = slot(late.locks, "workers", { of: 100, wait: 0 });
    await expect(world.until(once)).rejects.toMatchObject({ code: "not-acquired" });
    expect(writes).toBe(100);
  });

  it("frees the number of a killed process after its lease", async () => {
    const dead = world.inhabitant();
    const had = await world.until(slot(dead.locks, "workers", { of: 1 }));
    dead.process.kill();
    const next = await world.until(slot(world.inhabitant().locks, "workers", { of: 1 }));
    expect(next.number).toBe(had.number);
    expect(next.fence > had.fence).toBe(true);
  });

  it("ends with its signal, and refuses wrong options", async () => {
    const { locks } = world.inhabitant();
    await world.until(slot(locks, "workers", { of: 1 }));
    const ending = new AbortController();
    const waiting = slot(world.inhabitant().locks, "workers", { of: 1, signal: ending.signal });
    await world.time.advance(2_000);
    ending.abort(new Error("enough"));
    await expect(world.until(waiting)).rejects.toThrow("enough");
    for (const of of [0, 1.5, 10_001, Symbol("of") as unknown as number]) {
      await expect(slot(locks, "workers", { of })).rejects.toMatchObject({
        code: "invalid-argument",
      });
    }
    for (const group of ["", undefined as unknown as string, 7 as unknown as string]) {
      await expect(slot(locks, group, { of: 1 })).rejects.toMatchObject({
        code: "invalid-argument",
      });
    }
  });

  it("ends at once when its client closes", async () => {
    await world.until(slot(world.inhabitant().locks, "workers", { of: 1 }));
    const { locks } = world.inhabitant();
    const waiting = slot(locks, "workers", { of: 1, wait: "10m" });
    const ended = expect(waiting).rejects.toMatchObject({ code: "closed" });
    await world.time.advance(30_000);
    await world.until(locks.close());
    await world.time.advance(20);
    const closedMs = world.time.nowMs;
    await world.until(ended);
    expect(world.time.nowMs).toBe(closedMs);
  });

  it("waits through an outage", async () => {
    const { locks, network } = world.inhabitant();
    await world.until(slot(locks, "others", { of: 1 }));
    network.script(() => ({ fault: "throttled" }));
    const waiting = slot(locks, "workers", { of: 1, wait: "2m" });
    waiting.catch(() => undefined);
    await world.time.advance(30_000);
    network.clear();
    expect((await world.until(waiting)).number).toBe(0);
  });

  it.each([
    ["request-lost", "unreachable"],
    ["throttled", "throttled"],
  ] as const)(
    "rejects after an outage for the whole wait with its error: %s",
    async (fault, code) => {
      for (const wait of ["5s", "30s", "60s"]) {
        const { locks, network } = world.inhabitant();
        network.script(() => ({ fault }));
        const fromMs = world.time.nowMs;
        const refused = slot(locks, "workers", { of: 4, wait });
        await expect(world.until(refused), wait).rejects.toMatchObject({ code });
        expect(world.time.nowMs - fromMs).toBeGreaterThanOrEqual(5_000);
      }
    },
  );

  it("waits through a refusal of two seconds, and rejects with one that lasts", async () => {
    const { locks, network } = world.inhabitant();
    const error = new HoldfastError("access-denied", "Not now.");
    network.script(() => ({ fault: "misconfigured", error }));
    const waiting = slot(locks, "workers", { of: 4 });
    waiting.catch(() => undefined);
    await world.time.advance(2_000);
    network.clear();
    expect((await world.until(waiting)).isHeld).toBe(true);
    network.script(() => ({ fault: "misconfigured", error }));
    const refused = slot(locks, "workers", { of: 4, wait: "10s" });
    await expect(world.until(refused)).rejects.toMatchObject({ code: "access-denied" });
  });
});
