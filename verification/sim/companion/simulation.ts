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
  isHoldfastError,
  mutex,
} from "../../../packages/holdfast/src/index.js";
import type { Item } from "../../../packages/holdfast/src/platform/table.js";
import type { TableChange } from "../../../packages/testing/src/table/memory-table.js";
import {
  type SeededRandom,
  seededRandom,
} from "../../../packages/testing/src/time/seeded-random.js";
import { textIn } from "../items.js";
import { evenFaults, type Machine, orderOf, Site } from "../machine.js";
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
const FAULTS = [
  ...(["request-lost", "response-lost", "response-lost-and-retried"] as const),
  ...(["applied-late", "duplicated", "reordered", "stale"] as const),
] as const;

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
class CompanionSimulation extends Site {
  readonly #lengthMs: number;
  readonly #leaseMs: number;
  readonly #faultRate: number;
  readonly #kind: Kind;
  readonly #machines: Machine<Numbered>[] = [];
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
    const random = seededRandom(seed);
    const leaseMs = random.integer(1_500, 4_000);
    const faultRate = random.chance(0.3) ? 0 : 0.2 * random.fraction();
    const kind = kindOf(random, leaseMs);
    const lag = random.fork();
    super(random, {
      keyAttributes: ["key"],
      // The worst case of a replica: waiters read it; decisions must not.
      lagMs: () => (lag.chance(0.5) ? 0 : 3 * leaseMs * lag.fraction()),
      onChange: (change) => this.#changed(change),
    });
    this.#lengthMs = lengthMs;
    this.#leaseMs = leaseMs;
    this.#faultRate = faultRate;
    this.#kind = kind;
  }

  async run(): Promise<CompanionOutcome> {
    for (const name of ["p1", "p2", "p3"]) this.#join(name);
    await this.strikeUntil(
      this.#lengthMs,
      () => 6_000 * this.random.fraction(),
      () => this.#interfere(),
    );
    this.#isOver = true;
    for (const { faults } of this.#machines) this.#sums.faults += faults;
    return {
      violations: [...this.#disorder(), ...this.#reopened],
      format: this.#kind.format.name,
      leases: this.#handed.length,
      ...this.#sums,
      hash: this.#hash.digest("hex"),
    };
  }

  #join(name: string): void {
    const random = this.random.fork();
    const machine = this.start<Numbered>({
      ...{ name, random, clocks: { wallOffsetMs: random.integer(-50, 50) } },
      latencyMs: () => 1 + 20 * random.fraction(),
      wired: (network) => {
        const faults = evenFaults(this.#faultRate / 7, FAULTS);
        network.random(random.fork(), { faults, longestDelayMs: 4_000 });
        return network;
      },
      client: {
        ...{ format: this.#kind.format as LockFormat<Numbered>, lease: this.#leaseMs },
        ...{ requestTimeout: "300ms", poll: { min: "20ms", max: "200ms" } },
      },
    });
    this.#machines.push(machine);
    // Two per process, since hand-offs in the local queue need numbers too.
    for (let taker = 0; taker < 2; taker += 1) void this.#takes(machine, random.fork());
  }

  async #takes(machine: Machine<Numbered>, random: SeededRandom): Promise<void> {
    while (!this.#isOver) {
      await machine.sleep(500 * random.fraction());
      const keepData = random.chance(0.5);
      const acquiring = mutex(machine.locks, NAME).acquire({ wait: 4 * this.#leaseMs, keepData });
      const lease = await acquiring.catch(expected);
      if (lease === undefined) continue;
      const required = conditions(lease);
      const { holder, fence } = lease;
      this.#handed.push({ holder, fence, conditions: required, after: this.#sums.grants });
      await machine.sleep(random.chance(0.1) ? 2 * this.#leaseMs : 300 * random.fraction());
      await lease.release().catch(() => undefined);
    }
  }

  #changed({ key, before = {}, after = {}, atMs, by }: TableChange): void {
    this.#hash.update(`${atMs} ${JSON.stringify(after)}\n`);
    this.#tryGuards();
    const holder = textIn(after, this.#kind.holder);
    const isGrant = holder !== undefined && holder !== textIn(before, this.#kind.holder);
    if (textIn(key, "key") !== NAME || by !== "write" || !isGrant) return;
    this.#granted.set(holder, [...(this.#granted.get(holder) ?? []), this.#sums.grants]);
    this.#sums.grants += 1;
    const machine = this.#machines.find(({ name }) => holder.startsWith(`${name}/`));
    if (machine !== undefined && this.random.chance(0.2)) this.#stop(machine);
  }

  /** Pauses a process between its grant and the number, or near this instant. */
  #stop(machine: Machine<Numbered>): void {
    this.time.timers.set(60 * this.random.fraction(), true, () => {
      if (!machine.isRunning) return;
      this.#sums.pauses += 1;
      const frozen = this.random.chance(0.5) ? "all" : "none";
      machine.pause(2.5 * this.#leaseMs * this.random.fraction(), () => orderOf(this.random), {
        frozen,
      });
    });
  }

  /** Writes or deletes the whole record, without any condition, as a peer does. */
  #interfere(): void {
    this.#sums.byPeers += 1;
    if (this.random.chance(0.6)) {
      this.table.deleteItem(KEY);
      return;
    }
    const version = `peer-${this.#sums.byPeers}`;
    this.table.putItem(KEY, this.#kind.peer(this.#leaseMs, version, this.time.nowMs));
  }

  /**
   * After a later grant was handed out, no condition of an earlier grant may succeed again, whatever arrives late.
   */
  #tryGuards(): void {
    const last = this.#handed.at(-1)?.fence ?? 0n;
    // Leases with late copies which may still be in flight.
    for (const { conditions, holder, fence } of this.#handed.slice(-30)) {
      if (fence < last && wouldCommit(this.table, conditions)) {
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
