import { election } from "../../../packages/holdfast/src/election/index.js";
import { mutex } from "../../../packages/holdfast/src/index.js";
import { inMs } from "../../../packages/holdfast/src/internal/duration.js";
import type { Item, TablePort } from "../../../packages/holdfast/src/platform/table.js";
import { DatedTable } from "../../../packages/testing/src/table/dated-table.js";
import type { VirtualProcess } from "../../../packages/testing/src/time/virtual-process.js";
import { type Machine, Site } from "../machine.js";
import { wrongDates } from "../wrong-dates.js";

/** A violation of the promise of takeover at first sight. */
interface SightViolation {
  readonly invariant: "exclusion" | "first sight" | "guarded writes";
  readonly atMs: number;
  readonly what: string;
}

/** What a seed does not decide. */
export interface SightOptions {
  /** The difference between two servers, as a multiple of `maxClockError`; at most 1 is within the bound. */
  readonly spread?: number;
  /** The part of the answers to a process with a single wrong `Date`; none by default. */
  readonly wrongPart?: number;
  /** What the processes want: a mutex, by default, or the leadership of an election. */
  readonly of?: "mutex" | "election";
}

const LEASE_MS = 4_000;
// Two steps of a `Date`, and requests on slow clocks.
const STEPS_MS = 2_500;
// What the end of a first grant may be ahead, besides the bound.
const AHEAD_MS = 2_000;
const HOURS_MS = 5 * 3_600_000;
const DRIFT = 0.01;
const TURNS = 120;
const NAME = "a";
// Longer than the requests of one try, and shorter than the pause before the next.
const TRY_MS = 300;
const POLL_MS = 1_000;

/** A mutex's lease, or a leader's term. */
interface Held {
  readonly holder: string;
  readonly fence: bigint;
  readonly isHeld: boolean;
}

/** A process that was granted the lock. */
interface Holding {
  readonly lease: Held;
  readonly machine: Machine;
  isCut: boolean;
}

/**
 * Holders renew until their network fails, while fresh processes try once each and are killed. The machines' clocks are
 * wrong by hours, and jump; copies of writes arrive late; the clocks of the servers differ.
 */
class FirstSight extends Site {
  readonly violations: SightViolation[] = [];
  grants = 0;
  readonly #boundMs: number;
  readonly #apartMs: number;
  readonly #holdings: Holding[] = [];
  /** When the table carried out the last grant or renewal. */
  #movedMs = 0;
  /** When the last grant was handed out. */
  #grantedMs = 0;

  readonly #of: "mutex" | "election";
  readonly #wrongPart: number;
  readonly #phaseMs: number;
  readonly #key: Item;

  constructor(seed: number, { spread = 1, of = "mutex", wrongPart = 0 }: SightOptions) {
    super(seed, {
      onChange: ({ atMs }) => {
        this.#movedMs = atMs;
        this.#checkBelief();
      },
    });
    this.#of = of;
    this.#wrongPart = wrongPart;
    this.#key = { pk: { S: `${of === "mutex" ? "lock" : "leader"}#${NAME}` }, sk: { S: "lease" } };
    this.#boundMs = Math.ceil(LEASE_MS * (0.1 + 0.4 * this.random.fraction()));
    this.#apartMs = spread * this.#boundMs;
    const phaseMs = 1_000 * this.random.fraction();
    this.#phaseMs = phaseMs;
    this.service = new DatedTable(this.table, () => {
      return this.time.wallMs + phaseMs + this.#apartMs * (this.random.chance(0.5) ? 0.5 : -0.5);
    });
  }

  async run(): Promise<void> {
    for (let turn = 0; turn < TURNS; turn += 1) {
      const last = this.#holdings.at(-1);
      const isCut = last === undefined || last.isCut;
      // Some newcomers come at a random time, some as soon as the lock is due.
      const dueMs = this.#dueMs();
      const pauseMs =
        isCut && this.random.chance(0.2)
          ? Math.max(0, dueMs - this.time.nowMs)
          : 700 * this.random.fraction();
      await this.time.advance(pauseMs);
      const movedMs = this.#movedMs;
      const isDue = isCut && this.time.nowMs >= dueMs;
      if (!(await this.#isGrantedAtOnce()) && isDue && movedMs === this.#movedMs) {
        this.#violate("first sight", "the lock of a dead holder was not granted at the first try");
      }
      if (last !== undefined && this.random.chance(0.15)) this.#cut(last);
    }
  }

  /** From when on a newcomer must be granted the lock at its first try, if the holder is dead. */
  #dueMs(): number {
    // The end of a process's first grant comes from its wall clock, and may be ahead by the bound without a correction.
    const firstMs = this.#grantedMs + AHEAD_MS + this.#boundMs;
    const movedMs = Math.max(this.#movedMs, firstMs);
    return movedMs + LEASE_MS + this.#boundMs + this.#apartMs + STEPS_MS;
  }

  // The holder believes in its lease to the deadline, but no request of it arrives from now on.
  #cut(holding: Holding): void {
    holding.isCut = true;
    holding.machine.network.script(() => ({ fault: "request-lost" }));
    if (this.random.chance(0.3)) {
      holding.machine.process.stepWall(this.random.integer(-HOURS_MS, HOURS_MS));
    }
  }

  async #isGrantedAtOnce(): Promise<boolean> {
    const { random } = this;
    let isTrying = true;
    const dated = (network: TablePort, process: VirtualProcess): TablePort =>
      wrongDates(network, {
        random: random.fork(),
        // A candidate pauses before it corrects an end, longer than a try lasts.
        part: () => (isTrying && this.#of === "election" ? 0 : this.#wrongPart),
        // A `Date` that is behind costs a try.
        mayBeBehind: () => !isTrying,
        clock: process.clock,
        isWallRight: () => this.#isWallRight(process),
      });
    const machine = this.start({
      clocks: {
        rate: random.chance(0.5) ? 1 + DRIFT : 1 - DRIFT,
        wallOffsetMs: random.chance(0.3) ? 0 : random.integer(-HOURS_MS, HOURS_MS),
      },
      latencyMs: () => 10 * random.fraction(),
      ...(this.#wrongPart > 0 ? { wired: dated } : {}),
      client: { lease: LEASE_MS, maxClockDrift: DRIFT, maxClockError: inMs(this.#boundMs) },
    });
    const trying =
      this.#of === "mutex" ? mutex(machine.locks, NAME).tryAcquire() : elected(machine);
    const lease = await this.time.runUntil<Held | null>(trying, { limitMs: 60_000 });
    isTrying = false;
    if (lease === null) {
      machine.process.kill();
      return false;
    }
    this.grants += 1;
    this.#grantedMs = this.time.nowMs;
    this.#holdings.push({ lease, machine, isCut: false });
    this.#checkBelief();
    machine.network.random(random.fork(), {
      faults: { duplicated: 0.3, "applied-late": 0.1, "response-lost": 0.1 },
      longestDelayMs: LEASE_MS,
    });
    return true;
  }

  #isWallRight({ clock }: VirtualProcess): boolean {
    const offMs = clock.wallMs() - this.time.wallMs - this.#phaseMs;
    return Math.abs(offMs) <= this.#boundMs / 2;
  }

  /** At no instant does a process believe in a lease whose lock another process was granted. */
  #checkBelief(): void {
    const item = this.table.item(this.#key);
    const holder = item?.["holder"];
    for (const { lease } of this.#holdings) {
      const isInRecord = holder !== undefined && "S" in holder && holder.S === lease.holder;
      if (isInRecord || !lease.isHeld) continue;
      this.#violate("exclusion", `a process believes in fence ${lease.fence} after its takeover`);
      // The condition of a guarded write names the holder and the fence, so the table refuses the former holder's.
      if (this.#commits(lease)) this.#violate("guarded writes", `fence ${lease.fence} committed`);
    }
  }

  #commits({ holder, fence }: Held): boolean {
    const answer = this.table.apply({
      key: this.#key,
      condition: {
        kind: "all",
        of: [
          { kind: "equals", attribute: "holder", value: { S: holder } },
          { kind: "equals", attribute: "fence", value: { N: String(fence) } },
        ],
      },
      change: { set: { guarded: { N: String(fence) } }, remove: [] },
    });
    return answer.kind === "applied";
  }

  #violate(invariant: SightViolation["invariant"], what: string): void {
    this.violations.push({ invariant, atMs: this.time.nowMs, what });
  }
}

/** Campaigns for as long as one try takes. */
async function elected({ locks, process }: Machine): Promise<Held | null> {
  const controller = new AbortController();
  const timer = process.timers.set(TRY_MS, true, () => controller.abort());
  const candidate = election(locks, NAME, { lease: LEASE_MS, poll: POLL_MS });
  try {
    const term = await candidate.campaign({ signal: controller.signal });
    const { holder, fence } = term;
    return {
      holder,
      fence,
      get isHeld() {
        return term.isHeld;
      },
    };
  } catch (error) {
    if (controller.signal.aborted) return null;
    throw error;
  } finally {
    timer.cancel();
  }
}

/** Runs one seed. */
export async function simulateFirstSight(seed: number, options: SightOptions = {}) {
  const simulation = new FirstSight(seed, options);
  await simulation.run();
  return { violations: simulation.violations, grants: simulation.grants };
}
