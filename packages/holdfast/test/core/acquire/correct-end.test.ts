import { describe, expect, it } from "vitest";
import type { Cancelling } from "../../../src/core/acquire/cancellation.js";
import type { AcquireContext } from "../../../src/core/acquire/context.js";
import { correctEnd } from "../../../src/core/acquire/correct-end.js";
import type { Deadline } from "../../../src/core/hold/deadline.js";
import type { RecordRef, Renewal } from "../../../src/core/record/format.js";
import type { HeldRecord } from "../../../src/core/record/record.js";
import { Abort } from "../../../src/platform/abort.js";

const REF = { name: "a", id: "a" } as RecordRef;
const LEASE_MS = 1_000;
const [SOUND, WRONG] = [1, 0];

interface Answer {
  readonly kind: "applied" | "refused" | "unknown";
  readonly record?: object;
}
type Answering = (renewal: Renewal) => Answer;

const record = (more: object = {}) =>
  ({
    ...{ state: "held", holder: "me", fence: 1n, version: 1n, mark: "grant" },
    ...{ endMs: WRONG, leaseMs: LEASE_MS, ...more },
  }) as unknown as HeldRecord;
const applied = (more: object) => (): Answer => ({ kind: "applied", record: record(more) });
const refused = (more: object) => (): Answer => ({ kind: "refused", record: record(more) });
const silent = (): Answer => ({ kind: "unknown" });
/** The refusal of a repeated write whose first send was applied. */
const refusedByItself: Answering = ({ mark }) => ({
  kind: "refused",
  record: record({ mark, endMs: SOUND, version: 2n }),
});

interface Script {
  readonly endMs?: number;
  readonly answers?: readonly Answering[];
  /** The time left at each check; the last one stays. */
  readonly leftMs?: readonly number[];
  readonly cancelsAtPause?: number;
  readonly maxClockErrorMs?: number;
}

/** Corrects the end of a grant, against a script of answers. */
async function correct(script: Script) {
  const { endMs = WRONG, answers = [], cancelsAtPause, maxClockErrorMs = 10_000 } = script;
  const left = [...(script.leftMs ?? [900])];
  const abort = new Abort();
  const sent: Renewal[] = [];
  const aheadMs = new Set<number>();
  const noAnswers: string[] = [];
  let served = 0;
  let pauses = 0;
  const context = {
    settings: { maxClockErrorMs },
    tableClock: {
      isSound: (end: number, _lease: object, ahead: number) => {
        aheadMs.add(ahead);
        return end === SOUND;
      },
    },
    renewal: (version: bigint, leaseMs: number) => ({ version, leaseMs, mark: `m${sent.length}` }),
    timeoutWithin: (ms: number) => ms,
    unlessLasting: (given: object) => given,
    format: { lease: { changeLength: (_ref: object, _held: object, renewal: Renewal) => renewal } },
    write: async (renewal: Renewal) => {
      sent.push(renewal);
      return (answers[sent.length - 1] ?? silent)(renewal);
    },
    seeRecord: (_ref: object, answer: Answer) => answer.record,
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
    onResponse: () => {
      served += 1;
    },
    error: () => new Error("cancelled"),
  } as unknown as Cancelling;
  const settings = { leaseMs: LEASE_MS, minPollMs: 10 };
  const grant = { record: record({ endMs }), settings, start: {}, deadline };
  const correcting = correctEnd(
    { context, ref: REF, settings: settings as never, cancellation },
    grant as never,
  );
  const answer = await correcting.catch((error: Error) => error);
  const versions = sent.map(({ version }) => version);
  return { answer, versions, marks: sent.map(({ mark }) => mark), aheadMs, noAnswers, served };
}

const granted = (version: bigint) => ({
  kind: "granted",
  result: { record: { version, endMs: SOUND } },
});

describe("the end of a grant", () => {
  it("stays if it is correct, without a request", async () => {
    const done = await correct({ endMs: SOUND });
    expect(done).toMatchObject({ answer: granted(1n), versions: [] });
  });

  it("is corrected by one write on the exact version", async () => {
    const done = await correct({ answers: [applied({ endMs: SOUND, version: 2n })] });
    expect(done).toMatchObject({ answer: granted(2n), versions: [1n], noAnswers: [] });
  });

  it("is corrected again if the answer shows that the new end is wrong, too", async () => {
    const answers = [applied({ version: 2n }), applied({ endMs: SOUND, version: 3n })];
    const done = await correct({ answers });
    expect(done).toMatchObject({ answer: granted(3n), versions: [1n, 2n], served: 2 });
  });

  it("is recognised by its mark after a send without an answer", async () => {
    const done = await correct({ answers: [silent, refusedByItself] });
    expect(done).toMatchObject({ answer: granted(2n), marks: ["m0", "m0"] });
    expect(done.noAnswers).toEqual(["unknown"]);
  });

  it("is corrected on the new version if another write has changed the record", async () => {
    const other = refused({ endMs: SOUND, version: 5n, mark: "other" });
    const answers = [other, applied({ endMs: SOUND, version: 6n })];
    expect(await correct({ answers })).toMatchObject({ answer: granted(6n), versions: [1n, 5n] });
  });

  it("is not corrected for another holder: the grant is refused", async () => {
    for (const more of [{ holder: "another" }, { state: "free" }]) {
      const done = await correct({ answers: [refused({ ...more, endMs: SOUND })] });
      expect(done).toMatchObject({ answer: { kind: "refused" }, versions: [1n] });
    }
  });

  it("is not corrected when half of the lease has passed, not even at that instant", async () => {
    const answers = [applied({ endMs: SOUND, version: 2n })];
    for (const leftMs of [500, 499]) {
      const done = await correct({ answers, leftMs: [leftMs] });
      expect(done).toMatchObject({ answer: { kind: "silent" }, versions: [] });
    }
    expect((await correct({ answers, leftMs: [501] })).answer).toMatchObject(granted(2n));
  });

  it("is given up once half of the lease has passed without an answer", async () => {
    const answers = [silent, applied({ endMs: SOUND })];
    // Read for the first check of the end, for the time, for the timeout, and after the pause.
    const done = await correct({ answers, leftMs: [900, 900, 900, 400] });
    expect(done).toMatchObject({ answer: { kind: "silent" }, versions: [1n] });
  });

  it("is given up with the error of a cancellation", async () => {
    const done = await correct({ answers: [silent, silent], cancelsAtPause: 2 });
    expect(done).toMatchObject({ answer: { message: "cancelled" }, versions: [1n, 1n] });
  });

  it("may be ahead by `maxClockError`, and by ten seconds at most", async () => {
    for (const [maxClockErrorMs, most] of [
      [2_000, 2_000],
      [60_000, 10_000],
    ]) {
      const { aheadMs } = await correct({ endMs: SOUND, maxClockErrorMs: maxClockErrorMs ?? 0 });
      expect([...aheadMs]).toEqual([most]);
    }
  });
});
