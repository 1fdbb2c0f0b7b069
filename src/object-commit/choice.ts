import type { Around } from "./around.js";
import type { FixedStrategy } from "./options.js";
import { type ConditionSupport, Probe, type ProbeReport, strategyFor } from "./probe.js";

/** Which strategy it is: as told, or as a probe of the store says, which is made once. */
export class Choice {
  readonly #around: Around;
  readonly #known = new Map<"put" | "copy", Promise<ConditionSupport>>();

  constructor(around: Around) {
    this.#around = around;
  }

  async strategy(): Promise<FixedStrategy> {
    const { strategy } = this.#around.settings;
    if (strategy !== "auto") return strategy;
    return strategyFor(await this.#support("put"), this.#around.table !== undefined);
  }

  async hasConditionalCopies(): Promise<boolean> {
    return (await this.#support("copy")) === "atomic";
  }

  async report(): Promise<ProbeReport> {
    const put = await this.#support("put");
    const copy = await this.#support("copy");
    return { put, copy, strategy: strategyFor(put, this.#around.table !== undefined) };
  }

  #support(of: "put" | "copy"): Promise<ConditionSupport> {
    const known = this.#known.get(of);
    if (known !== undefined) return known;
    const asked = new Probe(this.#around)[of]();
    this.#known.set(of, asked);
    // An outage says nothing about the store: the next operation asks again.
    asked.catch(() => this.#known.delete(of));
    return asked;
  }
}
