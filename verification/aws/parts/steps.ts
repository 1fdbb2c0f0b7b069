import { TransactWriteItemsCommand } from "@aws-sdk/client-dynamodb";
import { quantile } from "simple-statistics";
import {
  all,
  election,
  fairLock,
  type Holdfast,
  inspect,
  mutex,
  once,
  semaphore,
} from "../../../src/index.js";
import type { Finding, Scene } from "../scene.js";
import { Clients, codeOf, pause } from "../steps-kit.js";

const PART = "steps";
const HOUR_MS = 3_600_000;
const NOTE_EVERY = 60;

/** The times of each step, in milliseconds, and its failures. */
export class Times {
  readonly #times = new Map<string, number[]>();
  readonly #failures = new Map<string, string[]>();
  readonly #signal: AbortSignal;

  constructor(signal: AbortSignal) {
    this.#signal = signal;
  }

  /** Measures one step. Counts a failure, and rethrows it. */
  async of<T>(step: string, work: () => Promise<T>): Promise<T> {
    const startMs = performance.now();
    try {
      const value = await work();
      this.#note(this.#times, step, performance.now() - startMs);
      return value;
    } catch (error) {
      // After an abort every step fails.
      if (!this.#signal.aborted) this.#note(this.#failures, step, codeOf(error));
      throw error;
    }
  }

  #note<T>(map: Map<string, T[]>, step: string, value: T): void {
    const known = map.get(step);
    if (known === undefined) map.set(step, [value]);
    else known.push(value);
  }

  findings(part: string): Finding[] {
    const measured = [...this.#times].map(([check, times]): Finding => {
      const of = (p: number): number => Number(quantile(times, p).toFixed(1));
      const figures = { n: times.length, p50: of(0.5), p99: of(0.99), max: of(1) };
      const { n, p50, p99, max } = figures;
      const message = `p50 ${p50} ms, p99 ${p99} ms, most ${max} ms, ${n} times.`;
      return { part, check, level: "measured", message, figures };
    });
    const failed = [...this.#failures].map(
      ([check, codes]): Finding => ({
        part,
        check,
        level: "problem",
        message: `${codes.length} failures: ${[...new Set(codes)].join(", ")}.`,
      }),
    );
    return [...measured, ...failed];
  }
}

/** Two clients of one table, in the place of two processes. */
interface Pair {
  readonly ours: Holdfast;
  readonly theirs: Holdfast;
}

/** Measures each step, in rounds, for the hours of the run. */
export async function steps(scene: Scene): Promise<Finding[]> {
  const { client, names, settings, signal } = scene;
  const clients = new Clients();
  const times = new Times(signal);
  const limitMs = performance.now() + settings.hours * HOUR_MS;
  try {
    const pair: Pair = {
      ours: clients.make({ client, table: names.table }),
      theirs: clients.make({ client, table: names.table }),
    };
    // The first requests load the SDK's parts and open connections.
    await round(scene, pair, new Times(signal), "warm-up");
    for (let at = 0; at === 0 || performance.now() < limitMs; at += 1) {
      if (at % NOTE_EVERY === 0) scene.note(`steps: round ${at + 1}`);
      // The result has the failure, and the next round uses other names. After an abort, the former rounds count.
      await round(scene, pair, times, String(at)).catch(() => undefined);
      const pauseMs = Math.min(settings.everyS * 1_000, Math.max(0, limitMs - performance.now()));
      await pause(pauseMs, signal).catch(() => undefined);
      if (signal.aborted) break;
    }
    return times.findings(PART);
  } finally {
    await clients.close();
  }
}

/** Plays every step once, on new names. */
async function round(scene: Scene, pair: Pair, times: Times, id: string): Promise<void> {
  await mutexSteps(scene, pair, times, `steps/${id}`);
  await otherSteps(pair, times, `steps/${id}`);
}

async function mutexSteps(scene: Scene, pair: Pair, times: Times, name: string): Promise<void> {
  const { ours, theirs } = pair;
  const lock = mutex(ours, name);
  const lease = await times.of("acquire a free lock", () => lock.acquire({ renew: "manual" }));
  await times.of("try a held lock", () => mutex(theirs, name).tryAcquire());
  await times.of("inspect a held lock", () => inspect(theirs, name));
  await times.of("renew", () => lease.renew());
  const guarded = new TransactWriteItemsCommand({ TransactItems: [lease.condition()] });
  await times.of("commit a guarded transaction", () => scene.client.send(guarded));
  const waiting = mutex(theirs, name).acquire({ wait: "30s" });
  // Awaited below: after an abort the rejection must not count as unhandled.
  waiting.catch(() => undefined);
  // Until the waiter polls.
  await pause(200, scene.signal);
  await times.of("release", () => lease.release());
  const next = await times.of("hand a lock to another client", () => waiting);
  await next.release();
}

async function otherSteps({ ours, theirs }: Pair, times: Times, name: string): Promise<void> {
  const fair = fairLock(ours, `${name}/fair`);
  await (await times.of("acquire a free fair lock", () => fair.acquire())).release();
  const both = all(ours, [`${name}/a`, `${name}/b`]);
  await (await times.of("acquire two locks at once", () => both.acquire())).release();
  const limited = semaphore(ours, `${name}/semaphore`, { permits: 2 });
  await (await times.of("acquire a permit", () => limited.acquire())).release();
  const term = await times.of("campaign without a leader", () =>
    election(ours, `${name}/election`).campaign(),
  );
  await times.of("read the leader", () => election(theirs, `${name}/election`).leader());
  await times.of("resign", () => term.resign());
  await times.of("run an occurrence", () =>
    once(ours, `${name}/once`, { occurrence: "1" }, () => undefined),
  );
  await times.of("skip a completed occurrence", () =>
    once(theirs, `${name}/once`, { occurrence: "1" }, () => undefined),
  );
}
