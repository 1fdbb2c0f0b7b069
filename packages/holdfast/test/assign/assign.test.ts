import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { type Inhabitant, World } from "../../../../test/support/world.js";
import {
  type Assignment,
  type AssignmentChange,
  type AssignOptions,
  assign,
} from "../../src/assign/index.js";
import type { Lease } from "../../src/index.js";

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

  /** The longest time between two runs of a name that began after `fromMs`. */
  longestPauseMs(fromMs = 0): number {
    const last = new Map<string, number>();
    let longest = 0;
    for (const { name, fromMs: begunMs, untilMs } of this.entries) {
      const before = last.get(name);
      if (before !== undefined && begunMs >= fromMs) longest = Math.max(longest, begunMs - before);
      last.set(name, untilMs ?? Number.POSITIVE_INFINITY);
    }
    return longest;
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

const namesOf = (count: number): string[] => Array.from({ length: count }, (_, at) => `tenant-${at}`);

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
  const assignment = assign(it.locks, "webhooks", { names: namesOf(20), owner: who, ...options, run });
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
    expect(ledger.longestPauseMs()).toBeLessThan(2_600);
  });

  it("hands over within stopTimeout and a look when a member stops", async () => {
    const [first] = await startAll(5, { names: namesOf(100), stopTimeout: "5s" }, 2_000);
    await world.time.advance(2 * PERIOD_MS);
    const had = first?.assignment.mine ?? [];
    expect(had.length).toBe(20);
    const fromMs = world.time.nowMs;
    await world.until(first?.assignment.stop() ?? Promise.resolve());
    expect(world.time.nowMs - fromMs).toBeLessThan(2_200);
    await world.time.advance(fromMs + PERIOD_MS + 500 - world.time.nowMs);
    expect(ledger.running.size).toBe(100);
    expect(first?.assignment.mine).toEqual([]);
    expect(first?.changes.filter(({ kind }) => kind === "revoked").length).toBe(20);
  });

  it("gives a name up after stopTimeout although its run goes on, and says so", async () => {
    const [first, second] = await startAll(2, { stopTimeout: "3s" }, 0);
    await world.time.advance(2 * PERIOD_MS);
    const other = member({ names: ["tenant-0"], stopTimeout: "3s", run: () => new Promise(() => undefined) });
    await world.until(Promise.all([first, second].map((one) => one?.assignment.stop())));
    await world.until(other.assignment.start());
    await world.time.advance(1_000);
    const fromMs = world.time.nowMs;
    await world.until(other.assignment.stop());
    expect(world.time.nowMs - fromMs).toBeGreaterThanOrEqual(3_000);
    expect(world.time.nowMs - fromMs).toBeLessThan(3_300);
    expect(other.it.reported.map(({ message }) => message).join()).toContain("has not ended 3000 ms");
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
    const begun = ledger.entries.filter(({ name, fromMs }) => had.includes(name) && fromMs > killedMs);
    expect(begun.length).toBe(20);
    const slowestMs = Math.max(...begun.map(({ fromMs }) => fromMs)) - killedMs;
    console.log("taken over after", slowestMs);
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
      console.log(count, before, after);
    }
  });
});
