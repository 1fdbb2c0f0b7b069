import type { Placement } from "./placement.js";
import { nameOf } from "./placement.js";
import type { Found } from "./search.js";

/** The figures of one kind of lock. */
interface Figures {
  runs: number;
  bad: number;
  /** The longest end, and the most requests, of runs without a violation. */
  longestMs: number;
  mostRequests: number;
}

const PRINTED = 20;
const SAY_EVERY_MS = 10_000;

/** Prints the progress of a search, its violations, and the figures. */
export class Report {
  bad = 0;
  readonly #startMs = performance.now();
  readonly #kinds = new Map<string, Figures>();
  readonly #violations: {
    readonly placement: string;
    readonly invariant: string;
    readonly what: string;
  }[] = [];
  #planned = 0;
  #done = 0;
  #saidMs = performance.now();

  /** More runs are to come. */
  begins(placements: readonly Placement[]): void {
    this.#planned += placements.length;
  }

  add({ placement, violations, costs }: Found): void {
    this.#done += 1;
    const row = placement.kind.replace(/^program-\d+$/, "programs");
    const known = this.#kinds.get(row);
    const figures = known ?? { runs: 0, bad: 0, longestMs: 0, mostRequests: 0 };
    this.#kinds.set(row, figures);
    figures.runs += 1;
    figures.longestMs = Math.max(figures.longestMs, costs.endMs);
    figures.mostRequests = Math.max(figures.mostRequests, costs.requests);
    const [first] = violations;
    if (first !== undefined) {
      this.bad += 1;
      figures.bad += 1;
      const name = nameOf(placement);
      this.#violations.push({ placement: name, invariant: first.invariant, what: first.what });
      if (this.bad <= PRINTED) this.#printBad(name, first.invariant, first.what);
    }
    this.#sayProgress();
  }

  print(asJson: boolean): void {
    const seconds = (performance.now() - this.#startMs) / 1000;
    const kinds = Object.fromEntries(this.#kinds);
    if (asJson) {
      const violations = this.#violations;
      const figures = { runs: this.#done, bad: this.bad, seconds, kinds, violations };
      console.log(JSON.stringify(figures, undefined, 2));
      return;
    }
    for (const [kind, { runs, bad, longestMs, mostRequests }] of this.#kinds) {
      const most = `at most ${(longestMs / 1000).toFixed(1)} s and ${mostRequests} requests`;
      console.log(`${kind.padEnd(12)} ${String(runs).padStart(8)} runs, ${bad} bad; ${most}`);
    }
    console.log(`${this.#done} runs in ${seconds.toFixed(0)} s, ${this.bad} bad`);
  }

  #printBad(name: string, invariant: string, what: string): void {
    console.error(`npm run exhaustive -- --only "${name}"\n  ${invariant}: ${what}`);
    if (this.bad === PRINTED) console.error("Further violations are only counted.");
  }

  #sayProgress(): void {
    const nowMs = performance.now();
    if (nowMs - this.#saidMs < SAY_EVERY_MS) return;
    this.#saidMs = nowMs;
    const perSecond = (this.#done / ((nowMs - this.#startMs) / 1000)).toFixed(0);
    console.error(`${this.#done} of ${this.#planned} runs so far, ${perSecond} a second`);
  }
}
