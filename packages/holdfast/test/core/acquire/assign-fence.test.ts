import { describe, expect, it } from "vitest";
import { expectError } from "../../../../../test/support/errors.js";
import { assignFence } from "../../../src/core/acquire/assign-fence.js";
import type { Cancelling } from "../../../src/core/acquire/cancellation.js";
import type { AcquireContext } from "../../../src/core/acquire/context.js";
import type { Deadline } from "../../../src/core/hold/deadline.js";
import type { FenceCounter, RecordRef } from "../../../src/core/record/format.js";
import { Abort } from "../../../src/platform/abort.js";
import type { ReadAnswer, WriteAnswer } from "../../../src/platform/table.js";

const REF = { name: "a", id: "a", key: {} } as unknown as RecordRef;
const LEASE_MS = 1_000;
const COUNTER = {
  count: () => ({}),
  numberIn: (item: { readonly n?: number } | undefined) =>
    item?.n === undefined ? undefined : BigInt(item.n),
} as unknown as FenceCounter;

const counted = (n?: number) =>
  ({ kind: "applied", item: n === undefined ? {} : { n } }) as unknown as WriteAnswer;
const holder = (id: string | undefined) =>
  ({ kind: "found", item: { id } }) as unknown as ReadAnswer;
const silent = (): never => ({ kind: "unknown", cause: new Error("silent") }) as never;

interface Script {
  readonly writes?: readonly (() => WriteAnswer)[];
  readonly reads?: readonly (() => ReadAnswer)[];
  /** The time left at each check; the last one stays. */
  readonly leftMs?: readonly number[];
  /** The number of the pause that cancels the acquisition. */
  readonly cancelsAtPause?: number;
}

/** Runs against a script of answers, with pauses that take no time. */
async function assign({ writes = [], reads = [], leftMs = [900], cancelsAtPause }: Script) {
  const abort = new Abort();
  const [toWrite, toRead, left] = [[...writes], [...reads], [...leftMs]];
  const noAnswers: string[] = [];
  let pauses = 0;
  const context = {
    write: async () => (toWrite.shift() ?? silent)(),
    read: async () => (toRead.shift() ?? silent)(),
    timeoutWithin: (ms: number) => ms,
    unlessLasting: (given: object) => given,
    format: { codec: { pollAttributes: [] } },
    seeRecord: (_ref: unknown, { item }: { readonly item: { readonly id?: string } }) =>
      item.id === undefined ? { state: "free" } : { state: "held", holder: item.id },
    random: { fraction: () => 0.5 },
    timers: {
      set: (_ms: number, _keepsAlive: boolean, then: () => void) => {
        pauses += 1;
        if (pauses === cancelsAtPause) abort.abort();
        queueMicrotask(then);
        return { cancel: () => undefined };
      },
    },
  } as unknown as AcquireContext;
  const deadline = {
    remainingMs: () => (left.length > 1 ? left.shift() : left[0]),
  } as unknown as Deadline;
  const cancellation = {
    signal: abort,
    get isStopped() {
      return abort.aborted;
    },
    onNoResponse: ({ kind }: { readonly kind: string }) => noAnswers.push(kind),
    error: () => new Error("cancelled"),
  } as unknown as Cancelling;
  const grant = { holder: "me", seed: 0n, leaseMs: LEASE_MS, deadline, pauseMs: 10 };
  const answering = assignFence(
    { ...{ context, ref: REF, cancellation }, settings: {} as never },
    COUNTER,
    grant,
  );
  const answer = await answering.catch((error: Error) => error);
  return { answer, noAnswers, pauses, writesLeft: toWrite.length, readsLeft: toRead.length };
}

describe("the fence of a grant beside its record", () => {
  it("is the counted number, if the record still names the grant", async () => {
    const { answer } = await assign({ writes: [() => counted(7)], reads: [() => holder("me")] });
    expect(answer).toEqual({ kind: "assigned", number: 7n });
  });

  it.each(["another", undefined])("is none if the record names %s", async (id) => {
    const { answer } = await assign({ writes: [() => counted(7)], reads: [() => holder(id)] });
    expect(answer).toEqual({ kind: "refused" });
  });

  it("is counted once, however often the read has no answer", async () => {
    const reads = [silent, silent, () => holder("me")];
    const done = await assign({ writes: [silent, () => counted(8), () => counted(9)], reads });
    expect(done.answer).toEqual({ kind: "assigned", number: 8n });
    expect(done).toMatchObject({ writesLeft: 1, noAnswers: Array(3).fill("unknown"), pauses: 3 });
  });

  it("is not counted when half of the lease has passed, not even at that instant", async () => {
    for (const leftMs of [500, 499]) {
      const done = await assign({ writes: [() => counted(7)], leftMs: [leftMs] });
      expect(done).toMatchObject({ answer: { kind: "silent" }, writesLeft: 1 });
    }
    const { answer } = await assign({
      ...{ writes: [() => counted(7)], reads: [() => holder("me")], leftMs: [501] },
    });
    expect(answer).toMatchObject({ kind: "assigned" });
  });

  it("is given up once half of the lease has passed without an answer", async () => {
    const done = await assign({ writes: [silent, () => counted(7)], leftMs: [900, 900, 400] });
    expect(done).toMatchObject({ answer: { kind: "silent" }, writesLeft: 1 });
  });

  it("is given up with the error of a cancellation, after an answer, too", async () => {
    const cancelled = { answer: { message: "cancelled" } };
    expect(await assign({ cancelsAtPause: 1 })).toMatchObject({ ...cancelled, pauses: 1 });
    const writes = [silent, () => counted(7)];
    const reads = [() => holder("me")];
    expect(await assign({ writes, reads, cancelsAtPause: 1 })).toMatchObject(cancelled);
  });

  it.each([
    ["applied", [/raised the number/], [/Nothing was written/]],
    ["refused", [/Nothing was written/], [/raised the number/]],
  ] as const)("fails on an item that is no counter (%s)", async (kind, mentions, omits) => {
    const { answer } = await assign({ writes: [() => ({ ...counted(), kind }) as WriteAnswer] });
    await expectError(Promise.reject(answer), {
      ...{ code: "foreign-record", lockName: "a", mentions, omits },
    });
  });

  it("fails on a refused count, even if the item has a number", async () => {
    const { answer } = await assign({
      writes: [() => ({ ...counted(7), kind: "refused" }) as WriteAnswer],
    });
    expect(answer).toMatchObject({ code: "foreign-record" });
  });
});
