import { expect, it } from "vitest";
import { HoldLengths } from "../../../src/core/record/hold-lengths.js";
import type { ObservedRecord } from "../../../src/core/record/observation.js";

const QUEUE = { tail: undefined, served: undefined };
const known = (fence: bigint) => ({ fence, version: 1n, queue: QUEUE }) as const;
const held = (holder: string, fence: bigint): ObservedRecord =>
  ({ state: "held", ...known(fence), holder, leaseMs: 1_000 }) as ObservedRecord;
const free = (fence: bigint): ObservedRecord => ({ state: "free", ...known(fence) }) as never;

function lengths(...seen: readonly (readonly [atMs: number, record: ObservedRecord])[]) {
  const holds = new HoldLengths();
  for (const [atMs, record] of seen) holds.see(record, atMs);
  return holds;
}

it("learns nothing from a hold whose beginning the client did not see", () => {
  expect(lengths([0, held("a", 1n)], [50, free(1n)]).usualMs).toBeUndefined();
  expect(lengths([0, held("a", 1n)], [50, held("b", 2n)]).usualMs).toBeUndefined();
});

it("learns the length of a hold from the first and the last sight", () => {
  const seen = [
    [0, free(1n)],
    [10, held("a", 2n)],
    [20, held("a", 2n)],
    [110, free(2n)],
  ] as const;
  expect(lengths(...seen).usualMs).toBe(100);
  expect(lengths(...seen, [500, held("b", 3n)], [700, free(3n)]).usualMs).toBe(200);
});

it("divides the time between two sights by the number of grants between them", () => {
  expect(lengths([0, free(1n)], [10, held("a", 2n)], [310, held("d", 5n)]).usualMs).toBe(100);
});

it("counts one hold where a grant has reserved a block of fences", () => {
  expect(lengths([0, free(1n)], [10, held("a", 16_384n)], [310, held("b", 32_767n)]).usualMs).toBe(
    300,
  );
});

it("counts one hold where the fences of a format do not grow", () => {
  expect(lengths([0, free(0n)], [10, held("a", 0n)], [60, held("b", 0n)]).usualMs).toBe(50);
});

it("learns nothing from a deleted record", () => {
  const absent: ObservedRecord = { state: "absent" };
  expect(lengths([0, free(1n)], [10, held("a", 2n)], [60, absent]).usualMs).toBeUndefined();
});

it("tells how long the client has seen the present holder", () => {
  expect(lengths([10, held("a", 1n)]).presentMs(60)).toBe(50);
  expect(lengths([10, held("a", 1n)], [40, held("b", 2n)]).presentMs(60)).toBe(20);
  expect(lengths([10, held("a", 1n)], [40, free(1n)]).presentMs(60)).toBe(0);
});

it("believes a longer hold at once, and halves its length with each shorter hold", () => {
  const long = [
    [0, free(1n)],
    [10, held("a", 2n)],
    [810, free(2n)],
  ] as const;
  expect(lengths(...long, [900, held("b", 3n)], [910, free(3n)]).usualMs).toBe(400);
  expect(lengths(...long, [900, held("b", 3n)], [930, held("e", 6n)]).usualMs).toBe(100);
});

it("learns the length of a turn from a queue that moved, down faster than up", () => {
  const holds = new HoldLengths();
  holds.turned(2, 200, 1_000);
  expect(holds.usualMs).toBe(100);
  holds.turned(1, 50, 1_050);
  expect(holds.usualMs).toBe(75);
  holds.turned(1, 275, 1_325);
  expect(holds.usualMs).toBeCloseTo(95);
  expect(holds.presentMs(1_335)).toBe(10);
});

it("learns nothing from the first holder seen after the queue moved", () => {
  const holds = lengths([0, held("z", 0n)]);
  holds.turned(1, 100, 1_000);
  holds.see(held("a", 1n), 1_010);
  expect(holds.usualMs).toBe(100);
  holds.see(free(1n), 1_090);
  expect(holds.usualMs).toBe(80);
});
