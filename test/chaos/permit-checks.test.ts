import { describe, expect, it } from "vitest";
import type { Ledger } from "../../verification/chaos/checks.js";
import type { Span } from "../../verification/chaos/order.js";
import { checkPermits, PERMITS, takeoversIn } from "../../verification/chaos/permit-checks.js";
import type { PermitSighting, SeenPermit } from "../../verification/chaos/permit-sightings.js";
import type { Event } from "../../verification/sim/history.js";

const NAME = "a";
const TAKEOVER_MS = 1_000;

/** Observations in the order in which they are noted: each has a stamp of its own, and the time that it is given. */
class Observed {
  readonly sightings: PermitSighting[] = [];
  readonly spans: Span[] = [];
  #stamps = 0;

  record(atMs: number, fence: number, permits: readonly SeenPermit[], used?: number): this {
    const sum = permits.reduce((all, { weight }) => all + weight, 0);
    const seen = { name: NAME, fence: BigInt(fence), limit: PERMITS, used: used ?? sum, permits };
    this.sightings.push({ kind: "record", ...seen, ...this.#at(atMs) });
    return this;
  }

  held(atMs: number, by: string, fence: number, weight: number): this {
    const held = { kind: "held", by, name: NAME, fence: BigInt(fence), weight } as const;
    this.sightings.push({ ...held, ...this.#at(atMs) });
    return this;
  }

  place(atMs: number, by: string, ticket: string, isThere = true): this {
    this.sightings.push({ kind: "place", by, ticket, isThere, ...this.#at(atMs) });
    return this;
  }

  hindered(atMs: number, by: string, untilMs: number): this {
    this.sightings.push({ kind: "hindered", by, untilMs, ...this.#at(atMs) });
    return this;
  }

  happened(atMs: number, event: Event): this {
    this.spans.push({ event, ...this.#at(atMs) });
    return this;
  }

  killed(atMs: number, by: string): this {
    return this.hindered(atMs, by, atMs + TAKEOVER_MS).happened(atMs, {
      kind: "process",
      by,
      what: "killed",
    });
  }

  guarded(atMs: number, by: string, fence: number): this {
    const write = { name: NAME, fence: BigInt(fence), isApplied: true, entry: `${fence} ${by} 1` };
    return this.happened(atMs, { kind: "guarded", by, ...write });
  }

  violations(ledgers: readonly Ledger[] = []): string[] {
    const { sightings, spans } = this;
    const run = { sightings, spans, ledgers, takeoverMs: TAKEOVER_MS };
    return checkPermits(run).map(({ invariant }) => invariant);
  }

  #at(atMs: number) {
    this.#stamps += 1;
    return { from: this.#stamps, to: this.#stamps, atMs };
  }
}

const permit = (fence: number, owner: string, weight: number): SeenPermit => ({
  fence: BigInt(fence),
  owner,
  weight,
});

const ledgerOf = (...entries: readonly (readonly [fence: number, weight: number])[]): Ledger =>
  ({
    name: NAME,
    entries: entries.map(([fence, weight]) => ({ fence: BigInt(fence), by: "p1", weight })),
  }) as unknown as Ledger;

describe("the checks of a chaos run with permits", () => {
  it("accept a run in which permits come and go", () => {
    const run = new Observed()
      .record(1, 10, [permit(10, "p1", 3)])
      .held(2, "p1", 10, 3)
      .record(3, 11, [permit(10, "p1", 3), permit(11, "p2", 4)])
      .held(4, "p2", 11, 4)
      .guarded(5, "p1", 10)
      .record(6, 11, [permit(11, "p2", 4)])
      .record(7, 12, [permit(11, "p2", 4), permit(12, "p3", 3)])
      .held(8, "p3", 12, 3);
    expect(run.violations([ledgerOf([10, 3], [11, 4], [12, 3])])).toEqual([]);
  });

  it("refuse a record whose `used` is not the weight of its permits", () => {
    expect(new Observed().record(1, 10, [permit(10, "p1", 3)], 2).violations()).toEqual([
      "counted",
    ]);
  });

  it("refuse a record with more in use than the limit", () => {
    const permits = [permit(10, "p1", 4), permit(11, "p2", 4)];
    expect(new Observed().record(1, 11, permits).violations()).toEqual(["counted"]);
  });

  it("refuse beliefs above the limit in total", () => {
    const run = new Observed().held(1, "p1", 10, 4).held(2, "p2", 11, 4).held(3, "p1", 10, 4);
    expect(run.violations()).toEqual(["belief"]);
  });

  it("refuse a belief, and a guarded write, after the removal of the permit", () => {
    const removed = () =>
      new Observed()
        .record(1, 10, [permit(10, "p1", 1)])
        .held(2, "p1", 10, 1)
        .record(3, 11, [permit(11, "p2", 1)]);
    expect(removed().held(4, "p1", 10, 1).violations()).toEqual(["belief"]);
    expect(removed().guarded(4, "p1", 10).violations()).toEqual(["guarded writes"]);
  });

  it("refuse writes of permits that were held together beyond the limit", () => {
    const ledger = ledgerOf([10, 4], [11, 4], [10, 4]);
    expect(new Observed().violations([ledger])).toEqual(["fence order"]);
  });
});

describe("the takeover of a killed process's permit", () => {
  const permits = [permit(10, "p1", 7)];

  it("is late after the bound, with a running process first in the queue", () => {
    const run = new Observed().place(0, "p2", "1").killed(100, "p1");
    expect(run.record(1_000, 10, permits).violations()).toEqual([]);
    expect(run.record(1_200, 10, permits).violations()).toEqual(["takeover"]);
  });

  it("does not count the time in which the first process is hindered, or nobody waits", () => {
    const run = new Observed().killed(100, "p1").place(500, "p2", "1").place(600, "p3", "2");
    run.killed(1_000, "p2").place(1_900, "p2", "1", false).hindered(2_000, "p3", 2_200);
    run.record(2_600, 10, permits);
    // From 500 to 1,000, from 1,900 to 2,000 and from 2,200 to 2,600.
    const [takeover] = takeoversIn(run.spans, run.sightings);
    expect(takeover).toMatchObject({ by: "p1", afterMs: 2_500, countedMs: 1_000 });
    expect(run.record(2_700, 10, permits).violations()).toEqual(["takeover"]);
  });

  it("counts again when the place of a killed process stays longer than its takeover", () => {
    const run = new Observed().killed(100, "p1").place(500, "p2", "1").killed(600, "p2");
    expect(run.record(2_400, 10, permits).violations()).toEqual([]);
    expect(run.record(2_600, 10, permits).violations()).toEqual(["takeover"]);
  });

  it("counts from the last start of the server", () => {
    const run = new Observed().place(0, "p2", "1").killed(100, "p1");
    run.happened(2_000, { kind: "process", by: "server", what: "note: started" });
    expect(run.record(2_900, 10, permits).violations()).toEqual([]);
    expect(run.record(3_100, 10, permits).violations()).toEqual(["takeover"]);
  });
});
