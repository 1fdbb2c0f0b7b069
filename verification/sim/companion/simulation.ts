import { createHash } from "node:crypto";
import {
  awsLockClient,
  dynamodbLease,
  dynamolock,
  type LockFormat,
} from "../../../packages/formats/src/index.js";
import type { FormatTypes } from "../../../packages/holdfast/src/core/record/format-types.js";
import {
  conditions,
  type GuardCondition,
  Holdfast,
  isHoldfastError,
  mutex,
} from "../../../packages/holdfast/src/index.js";
import type { Item } from "../../../packages/holdfast/src/platform/table.js";
import { FaultyTable } from "../../../packages/testing/src/faults/faults.js";
import { MemoryTable, type TableChange } from "../../../packages/testing/src/table/memory-table.js";
import {
  type SeededRandom,
  seededRandom,
} from "../../../packages/testing/src/time/seeded-random.js";
import type { VirtualProcess } from "../../../packages/testing/src/time/virtual-process.js";
import { VirtualTime } from "../../../packages/testing/src/time/virtual-time.js";
import { stringIn } from "../queue/checkers.js";
import { wouldCommit } from "./guard.js";

/** The result of one run. */
export interface CompanionOutcome {
  /**
   * Pairs of grants whose fences contradict the order of the grants, and conditions which succeeded again.
   */
  readonly violations: readonly string[];
  readonly format: string;
  readonly grants: number;
  /** Leases which were handed out, each with a fence. */
  readonly leases: number;
  readonly byPeers: number;
  readonly faults: number;
  readonly pauses: number;
  /** The hash of the history, equal for equal seeds. */
  readonly hash: string;
}

interface Numbered extends FormatTypes {
  readonly fence: bigint;
  readonly hasCompanion: true;
}

/** A format, the attribute for the holder, and a record as written by a peer. */
interface Kind {
  readonly format: LockFormat;
  readonly holder: string;
  peer(leaseMs: number, version: string, nowMs: number): Item;
}

interface Life {
  readonly name: string;
  readonly process: VirtualProcess;
  readonly network: FaultyTable;
  readonly locks: Holdfast<Numbered>;
}

interface Handed {
  readonly conditions: readonly GuardCondition[];
  readonly holder: string;
  readonly fence: bigint;
  /** The number of grants of the record when the lease was handed out. */
  readonly after: number;
}

const NAME = "a";
const KEY: Item = { key: { S: NAME } };
const FENCES = { fences: "companion" } as const;

function kindOf(random: SeededRandom, leaseMs: number): Kind {
  const owned = (format: LockFormat, text: string): Kind => ({
    format,
    holder: "ownerName",
    peer: (_, version) => ({
      ownerName: { S: "peer" },
      leaseDuration: { S: text },
      recordVersionNumber: { S: version },
    }),
  });
  const kinds: readonly Kind[] = [
    owned(awsLockClient(FENCES), `${leaseMs}`),
    owned(dynamolock(FENCES), `${leaseMs}ms`),
    {
      format: dynamodbLease({ ...FENCES, longestLease: leaseMs, maxClockSkew: "100ms" }),
      holder: "holder",
      peer: (forMs, version, nowMs) => ({
        lease_version: { S: version },
        lease_expiry: { N: String(Math.floor((nowMs + forMs) / 1_000)) },
      }),
    },
  ];
  return kinds[random.integer(0, kinds.length - 1)] as Kind;
}

/**
 * Clients take one lock, with companion fences, in virtual time; the format's records carry no number, and a peer
 * overwrites and deletes the records. Requests are lost, late and doubled, eventually consistent reads are stale, and
 * processes are paused right after a grant, some of them with all clocks. Two processes may hold the lock then; the
 * order of their fences must stand.
 */
class CompanionSimulation {
  readonly #lengthMs: number;
  readonly #time = new VirtualTime();
  readonly #random: SeededRandom;
  readonly #leaseMs: number;
  readonly #faultRate: number;
  readonly #kind: Kind;
  readonly #table: MemoryTable;
  readonly #lives: Life[] = [];
  readonly #hash = createHash("sha256");
  /**
   * Each holder's position in the order of all grants; two positions if a late copy of its claim was applied.
   */
  readonly #granted = new Map<string, number[]>();
  readonly #handed: Handed[] = [];
  readonly #reopened = new Set<string>();
  readonly #sums = { grants: 0, byPeers: 0, faults: 0, pauses: 0 };
  #isOver = false;

  constructor(seed: number, lengthMs: number) {
    this.#lengthMs = lengthMs;
    this.#random = seededRandom(seed);
    this.#leaseMs = this.#random.integer(1_500, 4_000);
    this.#faultRate = this.#random.chance(0.3) ? 0 : 0.2 * this.#random.fraction();
    this.#kind = kindOf(this.#random, this.#leaseMs);
    const lag = this.#random.fork();
    this.#table = new MemoryTable({
      keyAttributes: ["key"],
      time: this.#time,
      tellsDate: false,
      // The worst case of a replica: waiters read it; decisions must not.
      lagMs: () => (lag.chance(0.5) ? 0 : 3 * this.#leaseMs * lag.fraction()),
      keepsLog: false,
      onChange: (change) => this.#changed(change),
    });
  }

  async run(): Promise<CompanionOutcome> {
    for (const name of ["p1", "p2", "p3"]) this.#start(name);
    while (this.#time.nowMs < this.#lengthMs) {
      await this.#time.advance(6_000 * this.#random.fraction());
      this.#interfere();
    }
    this.#isOver = true;
    for (const { network } of this.#lives) {
      this.#sums.faults += Object.values(network.injected).reduce((sum, times) => sum + times, 0);
    }
    return {
      violations: [...this.#disorder(), ...this.#reopened],
      format: this.#kind.format.name,
      leases: this.#handed.length,
      ...this.#sums,
      hash: this.#hash.digest("hex"),
    };
  }

  #start(name: string): void {
    const random = this.#random.fork();
    const process = this.#time.process({ wallOffsetMs: random.integer(-50, 50) });
    const latency = (): number => 1 + 20 * random.fraction();
    const network = new FaultyTable(this.#table, process, {
      latency: () => ({ requestMs: latency(), responseMs: latency() }),
    });
    const each = this.#faultRate / 7;
    const faults = {
      "request-lost": each,
      "response-lost": each,
      "response-lost-and-retried": each,
      "applied-late": each,
      duplicated: each,
      reordered: each,
      stale: each,
    };
    network.random(random.fork(), { faults, longestDelayMs: 4_000 });
    const locks = new Holdfast<Numbered>({
      client: network,
      table: "locks",
      format: this.#kind.format as LockFormat<Numbered>,
      owner: name,
      requestTimeout: "300ms",
      lease: this.#leaseMs,
      poll: { min: "20ms", max: "200ms" },
      onError: () => undefined,
      environment: { clock: process.clock, timers: process.timers, random: random.fork() },
    });
    const life: Life = { name, process, network, locks };
    this.#lives.push(life);
    // Two per process, since hand-offs in the local queue need numbers too.
    for (let taker = 0; taker < 2; taker += 1) void this.#takes(life, random.fork());
  }

  async #takes(life: Life, random: SeededRandom): Promise<void> {
    while (!this.#isOver) {
      await this.#sleep(life, 500 * random.fraction());
      const keepData = random.chance(0.5);
      const acquiring = mutex(life.locks, NAME).acquire({ wait: 4 * this.#leaseMs, keepData });
      const lease = await acquiring.catch(expected);
      if (lease === undefined) continue;
      const required = conditions(lease);
      const { holder, fence } = lease;
      this.#handed.push({ holder, fence, conditions: required, after: this.#sums.grants });
      await this.#sleep(life, random.chance(0.1) ? 2 * this.#leaseMs : 300 * random.fraction());
      await lease.release().catch(() => undefined);
    }
  }

  #changed({ key, before = {}, after = {}, atMs, by }: TableChange): void {
    this.#hash.update(`${atMs} ${JSON.stringify(after)}\n`);
    this.#tryGuards();
    const holder = stringIn(after, this.#kind.holder);
    const isGrant = holder !== undefined && holder !== stringIn(before, this.#kind.holder);
    if (stringIn(key, "key") !== NAME || by !== "write" || !isGrant) return;
    this.#granted.set(holder, [...(this.#granted.get(holder) ?? []), this.#sums.grants]);
    this.#sums.grants += 1;
    const life = this.#lives.find(({ name }) => holder.startsWith(`${name}/`));
    if (life !== undefined && this.#random.chance(0.2)) this.#stop(life);
  }

  /** Pauses a process between its grant and the number, or near this instant. */
  #stop({ process }: Life): void {
    this.#time.timers.set(60 * this.#random.fraction(), true, () => {
      if (process.state !== "running") return;
      this.#sums.pauses += 1;
      process.pause({ frozen: this.#random.chance(0.5) ? "all" : "none" });
      this.#time.timers.set(2.5 * this.#leaseMs * this.#random.fraction(), true, () => {
        process.resume({ first: this.#random.chance(0.5) ? "io" : "timers" });
      });
    });
  }

  /** Writes or deletes the whole record, without any condition, as a peer does. */
  #interfere(): void {
    this.#sums.byPeers += 1;
    if (this.#random.chance(0.6)) {
      this.#table.deleteItem(KEY);
      return;
    }
    const version = `peer-${this.#sums.byPeers}`;
    this.#table.putItem(KEY, this.#kind.peer(this.#leaseMs, version, this.#time.nowMs));
  }

  /**
   * After a later grant was handed out, no condition of an earlier grant may succeed again, whatever arrives late.
   */
  #tryGuards(): void {
    const last = this.#handed.at(-1)?.fence ?? 0n;
    // Leases with late copies which may still be in flight.
    for (const { conditions, holder, fence } of this.#handed.slice(-30)) {
      if (fence < last && wouldCommit(this.#table, conditions)) {
        this.#reopened.add(`the guard of ${fence} of ${holder} holds after ${last} was granted`);
      }
    }
  }

  /** Returns pairs of leases where the later grant does not have the higher fence. */
  #disorder(): string[] {
    const placed = this.#handed.map(({ holder, fence, after }) => {
      const places = (this.#granted.get(holder) ?? []).filter((place) => place < after);
      return { holder, fence, first: Math.min(...places), last: Math.max(...places) };
    });
    return placed.flatMap((one) =>
      placed
        .filter((other) => other !== one && one.last < other.first && one.fence >= other.fence)
        .map((other) => `${one.fence} of ${one.holder} before ${other.fence} of ${other.holder}`),
    );
  }

  #sleep({ process }: Life, ms: number): Promise<void> {
    return new Promise((resolve) => process.timers.set(ms, true, () => resolve()));
  }
}

// The error codes of contention, a bad network and a peer; all further codes are defects of the library.
const EXPECTED = ["not-acquired", "unreachable", "throttled", "lost", "outcome-unknown"];

function expected(error: unknown): undefined {
  if (isHoldfastError(error) && EXPECTED.includes(error.code)) return undefined;
  throw error;
}

/** Runs one seed. */
export function simulateCompanions(seed: number, lengthMs: number): Promise<CompanionOutcome> {
  return new CompanionSimulation(seed, lengthMs).run();
}
