import { createHash } from "node:crypto";
import { type Holdfast, type Lease, mutex } from "../../../packages/holdfast/src/index.js";
import { Site } from "../machine.js";
import { type MadeThread, threadedClient } from "./threaded-client.js";

/** A violation of the rules for a session that a thread renews. */
interface ThreadsViolation {
  readonly invariant: "exclusion" | "lost is final" | "bounded";
  readonly atMs: number;
  readonly what: string;
}

/** The result of one run. */
export interface ThreadsOutcome {
  readonly violations: readonly ThreadsViolation[];
  /** Whether the lease was lost in the faults, and not only at the end. */
  readonly isLostEarly: boolean;
  readonly blocks: number;
  readonly faults: number;
  /** The number of started threads. */
  readonly threads: number;
  /** The hash of the history, equal for equal seeds. */
  readonly hash: string;
}

const LEASE_MS = 3_000;
const MAY_BLOCK_MS = 9_000;
const POLL_MS = 100;
const LATENCY_MS = 5;
const MOST_STEPS = 12;
const MOST_WAIT_MS = 600_000;
const SILENT = { fault: "request-lost", unknownAfterMs: 200 } as const;

/**
 * Simulates a holder with a renewing thread and a rival, in virtual time. The event loop of the holder blocks again and
 * again; threads hang, throw and lose their network; the wall clock steps. Code in a block asks at random instants
 * whether the lease is held. At the end the event loop blocks for good.
 */
class ThreadsSimulation extends Site {
  readonly #hash = createHash("sha256");
  readonly #client: ReturnType<typeof threadedClient>;
  readonly #rival: Holdfast;
  readonly #violations: ThreadsViolation[] = [];
  #lease: Lease | undefined;
  #grantedMs: number | undefined;
  #wasLost = false;
  #blocks = 0;
  #faults = 0;

  constructor(seed: number) {
    super(seed, {
      onChange: ({ atMs, after }) => {
        this.#hash.update(`${atMs} ${JSON.stringify(after)}\n`);
      },
    });
    const lengths = { leaseMs: LEASE_MS, mayBlockMs: MAY_BLOCK_MS };
    this.#client = threadedClient(this, { ...lengths, seed });
    const poll = { min: `${POLL_MS}ms`, max: `${POLL_MS}ms` } as const;
    const rival = { name: "rival", latencyMs: () => LATENCY_MS, client: { lease: LEASE_MS, poll } };
    this.#rival = this.start(rival).locks;
  }

  async run(): Promise<ThreadsOutcome> {
    const acquired = this.#client.mutex("a").acquire();
    this.#lease = await this.time.runUntil(acquired, { limitMs: MOST_WAIT_MS });
    void mutex(this.#rival, "a")
      .acquire({ wait: "1h" })
      .then(() => this.#granted());
    const steps = 1 + Math.floor(MOST_STEPS * this.random.fraction());
    for (let step = 0; step < steps; step += 1) await this.#step();
    const isLostEarly = this.#grantedMs !== undefined;
    await this.#blockForGood();
    const { length: threads } = this.#client.threads;
    const hash = this.#hash.digest("hex");
    const counts = { isLostEarly, blocks: this.#blocks, faults: this.#faults, threads };
    return { violations: this.#violations, ...counts, hash };
  }

  #granted(): void {
    this.#grantedMs = this.time.nowMs;
    // The holder may never have asked before this instant.
    if (this.#lease?.isHeld)
      this.#violate("exclusion", "the holder believes when the rival acquires");
  }

  /** A question of the holder. */
  #ask(): void {
    const isHeld = this.#lease?.isHeld === true;
    if (isHeld && this.#grantedMs !== undefined) {
      this.#violate("exclusion", "the holder believes after the rival has acquired");
    }
    if (isHeld && this.#wasLost) this.#violate("lost is final", "the holder believes again");
    this.#wasLost ||= !isHeld;
  }

  async #step(): Promise<void> {
    const thread = this.#client.threads.at(-1);
    this.#fault(thread);
    const isBlocked = this.random.chance(0.6);
    if (isBlocked) {
      this.#blocks += 1;
      this.#client.main.pause();
    }
    const longestMs = (this.random.chance(0.8) ? 0.8 : 2) * MAY_BLOCK_MS;
    const untilMs = this.time.nowMs + this.#between(500, isBlocked ? longestMs : LEASE_MS);
    while (this.time.nowMs < untilMs) {
      await this.time.advance(this.#between(20, 400));
      // Code in a block may ask; it may also never ask before the rival's grant.
      if (this.random.chance(0.3)) this.#ask();
    }
    if (isBlocked) this.#client.main.resume();
    if (thread?.process.state === "paused") thread.process.resume();
    await this.time.advance(1);
    this.#ask();
  }

  #fault(thread: MadeThread | undefined): void {
    const kind = this.random.fraction();
    if (kind < 0.3) this.#faults += 1;
    if (kind >= 0.2 && kind < 0.3) this.#client.main.stepWall(this.#between(-2_000, 2_000));
    if (thread?.process.state !== "running") return;
    if (kind < 0.06) thread.process.pause();
    else if (kind < 0.12) thread.events.onFailure(new Error("It throws."));
    else if (kind < 0.16)
      thread.network.script(() => (this.random.chance(0.5) ? SILENT : undefined));
    else if (kind < 0.2)
      // A slow answer to a thread that then hangs arrives after the deadline.
      thread.network.script(() => ({ fault: "delayed", delayMs: this.#between(200, 900) }));
  }

  /** Blocks the event loop for good, and checks that the rival acquires the lock by the bound. */
  async #blockForGood(): Promise<void> {
    this.#client.main.pause();
    await this.time.advance(MAY_BLOCK_MS + 1.1 * LEASE_MS + POLL_MS + 1_000);
    if (this.#grantedMs === undefined) this.#violate("bounded", "the rival has not acquired");
    this.#ask();
  }

  #between(least: number, most: number): number {
    return least + (most - least) * this.random.fraction();
  }

  #violate(invariant: ThreadsViolation["invariant"], what: string): void {
    this.#violations.push({ invariant, atMs: this.time.nowMs, what });
  }
}

/** Runs one seed. */
export function simulateThreads(seed: number): Promise<ThreadsOutcome> {
  return new ThreadsSimulation(seed).run();
}
