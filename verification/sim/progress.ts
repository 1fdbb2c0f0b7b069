import { added } from "./runner.js";
import type { Done, Tally } from "./tally.js";

const HOUR_MS = 3_600_000;

/** Prints the progress of a run of many seeds, its bad seeds, and the totals. */
export class Progress {
  bad = 0;
  readonly #seeds: number;
  readonly #options: string;
  readonly #startMs = performance.now();
  readonly #kinds = new Map<string, number>();
  #tally: Tally = { simulatedMs: 0, grants: 0, faults: {} };
  #done = 0;
  #saidMs = performance.now();

  constructor(seeds: number, options: string) {
    this.#seeds = seeds;
    this.#options = options;
  }

  done(run: Done): void {
    this.#done += 1;
    this.#tally = added(this.#tally, run);
    this.#kinds.set(run.kind, (this.#kinds.get(run.kind) ?? 0) + 1);
    if (run.violations.length > 0) this.#reportBad(run);
    this.#reportProgress();
  }

  /** Prints the totals at the end. */
  print(asJson: boolean): void {
    const { simulatedMs, grants, faults } = this.#tally;
    const realMs = performance.now() - this.#startMs;
    const hours = simulatedMs / HOUR_MS;
    const injected = Object.values(faults).reduce((sum, times) => sum + times, 0);
    const timesReal = Math.round(simulatedMs / realMs);
    const kinds = Object.fromEntries(this.#kinds);
    if (asJson) {
      const { bad } = this;
      const seconds = realMs / 1000;
      const figures = { seeds: this.#done, bad, hours, seconds, timesReal, grants, injected };
      console.log(JSON.stringify({ ...figures, kinds, faults }, undefined, 2));
      return;
    }
    console.log(
      `${this.#done} seeds, ${this.bad} bad; ${hours.toFixed(1)} simulated hours in ` +
        `${(realMs / 1000).toFixed(0)} s (${timesReal} times real time); ` +
        `${grants} grants, ${injected} faults`,
    );
    for (const [title, counts] of Object.entries({ "runs by kind": kinds, faults })) {
      console.log(`${title}:`);
      const sorted = Object.entries(counts).sort(([, left], [, right]) => right - left);
      for (const [kind, times] of sorted) if (times > 0) console.log(`  ${kind}: ${times}`);
    }
  }

  #reportBad({ seed, kind, violations }: Done): void {
    this.bad += 1;
    console.error(
      `\nseed ${seed} (${kind}) is bad: npm run sim -- ${this.#options} --seed ${seed}`,
    );
    for (const { invariant, atMs, what } of violations.slice(0, 3)) {
      console.error(`  ${(atMs / 1000).toFixed(3)} s  ${invariant}: ${what}`);
    }
    if (violations.length > 3) console.error(`  and ${violations.length - 3} more`);
  }

  #reportProgress(): void {
    const nowMs = performance.now();
    if (nowMs - this.#saidMs < (process.stderr.isTTY ? 1_000 : 30_000)) return;
    this.#saidMs = nowMs;
    const realMs = nowMs - this.#startMs;
    const leftS = ((realMs / this.#done) * (this.#seeds - this.#done)) / 1000;
    const perSecond = this.#tally.simulatedMs / HOUR_MS / (realMs / 1000);
    const line =
      `${this.#done} of ${this.#seeds} seeds, ${perSecond.toFixed(2)} simulated hours a second, ` +
      `${Math.ceil(leftS)} s left`;
    process.stderr.write(process.stderr.isTTY ? `\r${line}   ` : `${line}\n`);
  }
}
