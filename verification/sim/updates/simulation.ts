import { isHoldfastError, type Lease, mutex } from "../../../packages/holdfast/src/index.js";
import type { SeededRandom } from "../../../packages/testing/src/time/seeded-random.js";
import type { Operation } from "../../histories/operations.js";
import { type Machine, orderOf, Site } from "../machine.js";

/** The result of one run. */
export interface UpdatesOutcome {
  /** How many updates the store acknowledged. */
  readonly acknowledged: number;
  /** How many updates the store refused, because their lock had another holder by then. */
  readonly refused: number;
  /** How many acknowledged updates are missing from the final value. */
  readonly lost: number;
  readonly pauses: number;
  readonly operations: readonly Operation[];
}

const NAME = "set";
const LENGTH_MS = 300_000;
const LEASE_MS = 4_000;
const PROCESSES = 5;
const DRIFT = 0.01;

interface Client {
  readonly machine: Machine;
  readonly random: SeededRandom;
}

/**
 * The workload of the Jepsen report on etcd 3.4.3, by Kyle Kingsbury (aphyr): under a lock, a client reads a set, waits
 * up to two seconds, and writes the set with one more element. The client trusts its lock, and never asks whether the
 * lease is still held. Clocks drift within the bound, and processes are paused, in the middle of an update, too.
 */
class Updates extends Site {
  readonly operations: Operation[] = [];
  acknowledged = 0;
  refused = 0;
  pauses = 0;
  readonly #isGuarded: boolean;
  readonly #clients: readonly Client[];
  #elements: readonly string[] = [];
  readonly #added: string[] = [];
  #clock = 0;
  #isOver = false;

  constructor(seed: number, isGuarded: boolean) {
    super(seed);
    this.#isGuarded = isGuarded;
    this.#clients = Array.from({ length: PROCESSES }, () => this.#client());
  }

  /** The final value lacks these updates. */
  get lost(): number {
    const kept = new Set(this.#elements);
    return this.#added.filter((element) => !kept.has(element)).length;
  }

  #client(): Client {
    const random = this.random.fork();
    const machine = this.start({
      random,
      clocks: { rate: 1 + DRIFT * (2 * random.fraction() - 1) },
      latencyMs: () => 10 * random.fraction(),
      client: { lease: LEASE_MS, maxClockDrift: DRIFT },
    });
    return { machine, random };
  }

  async run(): Promise<void> {
    const done = Promise.all(this.#clients.map((client) => this.#work(client)));
    await this.strikeUntil(
      LENGTH_MS,
      () => 2_000 * this.random.fraction(),
      () => this.#pauseOne(),
    );
    this.#isOver = true;
    await this.time.runUntil(done);
    const at = this.#tick();
    const to = this.#value;
    this.operations.push({
      op: "read",
      ...this.#register,
      client: "end",
      call: at,
      return: at,
      to,
    });
  }

  get #register() {
    return { name: NAME, register: NAME, outcome: "ok" } as const;
  }

  /** The whole set as text; empty at the beginning. */
  get #value(): string {
    return this.#elements.join(" ");
  }

  #tick(): number {
    this.#clock += 1;
    return this.#clock;
  }

  #pauseOne(): void {
    const { machine } = this.one(this.#clients);
    if (!machine.isRunning) return;
    this.pauses += 1;
    const forMs = 3 * LEASE_MS * this.random.fraction();
    const first = orderOf(this.random);
    machine.pause(forMs, () => first);
  }

  async #work(client: Client): Promise<void> {
    while (!this.#isOver) {
      const lease = await mutex(client.machine.locks, NAME).acquire({
        wait: Number.POSITIVE_INFINITY,
      });
      await this.#update(client, lease);
      await lease.release().catch((error: unknown) => {
        if (!isHoldfastError(error)) throw error;
      });
      await client.machine.sleep(500 * client.random.fraction());
    }
    await client.machine.locks.close();
  }

  async #update(client: Client, { fence, holder }: Lease): Promise<void> {
    const call = this.#tick();
    const [observed, from] = [this.#elements, this.#value];
    await client.machine.sleep(2_000 * client.random.fraction());
    const element = `${client.machine.name}.${call}`;
    // The write arrives, and the store checks the condition, at one instant.
    const isApplied = !this.#isGuarded || this.#isHeldBy(holder, fence);
    if (isApplied) {
      this.#elements = [...observed, element];
      this.#added.push(element);
      this.acknowledged += 1;
    } else this.refused += 1;
    const to = [...observed, element].join(" ");
    const outcome = isApplied ? "ok" : "refused";
    const write = {
      op: "write",
      ...this.#register,
      client: client.machine.name,
      outcome,
      from,
      to,
    } as const;
    const guard = this.#isGuarded ? { fence: `${fence}` } : {};
    this.operations.push({ ...write, ...guard, call, return: this.#tick() });
  }

  /** Evaluates what `lease.condition()` requires of the record. */
  #isHeldBy(holder: string, fence: bigint): boolean {
    const item = this.table.item({ pk: { S: `lock#${NAME}` }, sk: { S: "lease" } });
    const [h, f] = [item?.["holder"], item?.["fence"]];
    if (h === undefined || !("S" in h) || f === undefined || !("N" in f)) return false;
    return h.S === holder && BigInt(f.N) === fence;
  }
}

/** Runs one seed: five processes for five minutes of virtual time. */
export async function simulateUpdates(seed: number, isGuarded: boolean): Promise<UpdatesOutcome> {
  const updates = new Updates(seed, isGuarded);
  await updates.run();
  const { acknowledged, refused, lost, pauses, operations } = updates;
  return { acknowledged, refused, lost, pauses, operations };
}
