import { describe, expect, it } from "vitest";
import { election } from "../../packages/holdfast/src/election/index.js";
import { ProcessScene } from "../support/process-scene.js";
import { shared } from "../support/shared.js";

const scene = await shared(ProcessScene.open());

// The codes for a request without an answer in time, or refused temporarily: see docs/errors.md.
const TROUBLE = ["unreachable", "throttled", "outcome-unknown"];

const LENGTHS = { lease: 1_000, renew: "200ms", poll: "100ms" };

describe("a worker that blocks the process past the deadline", () => {
  it("cannot write under the old term, and detects the loss in the next line of code", async () => {
    const worker = scene.worker("wedged", { name: "pool", lengths: LENGTHS, blockMs: 3_000 });
    expect(await worker.says("leads")).toMatchObject({ before: null });
    const term = await election(scene.locks(), "pool", LENGTHS).campaign();
    expect(await worker.says("wrote")).toMatchObject({
      isLeading: false,
      aborted: true,
      after: "TransactionCanceledException",
    });
    expect(term.isHeld).toBe(true);
    await term.release();
  });
});

describe("two processes with node-cron on the same schedule, with clocks 6 s apart", () => {
  it("run each occurrence once", { timeout: 90_000 }, async () => {
    // Within `maxClockError`, and not a multiple of the schedule's 4 s: a process that arrives during the run of an
    // earlier occurrence learns of the run, and skips the later occurrence.
    const ahead = scene.worker("cron", { name: "report", skewMs: 6_000 });
    const behind = scene.worker("cron", { name: "report", skewMs: 0 });
    const wrong = scene.worker("cron", { name: "report", skewMs: 22_000 });
    await Promise.all([ahead, behind, wrong].map((worker) => worker.says("scheduled")));
    // Until the slow process reaches occurrences that the fast process has already run.
    await new Promise((resolve) => setTimeout(resolve, 37_000));
    const of = (event: string, worker: typeof ahead) =>
      worker.said.filter((one) => one.event === event).map(({ occurrence }) => String(occurrence));
    const ran = [...of("ran", ahead), ...of("ran", behind)];
    // A clock beyond `maxClockError` names instants that are not due by the table's time, and each is refused.
    expect(of("ran", wrong)).toEqual([]);
    const refusals = wrong.said.filter(({ event }) => event === "unanswered");
    expect(refusals.filter(({ code }) => code === "misconfigured").length).toBeGreaterThan(2);
    // The fast process always arrives first: it runs every occurrence, except occurrences missed by node-cron
    // or unanswered on a busy machine.
    const unanswered = of("unanswered", ahead);
    expect(of("skipped", ahead)).toEqual(unanswered);
    // Of both processes: any further error would be a defect, which a busy machine does not excuse.
    const codes = [ahead, behind].flatMap(({ said }) =>
      said.filter(({ event }) => event === "unanswered").map(({ code }) => code),
    );
    expect(codes.filter((code) => !TROUBLE.includes(String(code)))).toEqual([]);
    const came = [...of("ran", ahead), ...of("missed", ahead), ...unanswered];
    expect(came.length).toBeGreaterThanOrEqual(8);
    expect(of("ran", ahead).length).toBeGreaterThanOrEqual(3);
    expect(new Set(ran).size).toBe(ran.length);
    // Either process skipped each occurrence that both reached.
    const both = of("skipped", behind).filter((one) => of("ran", ahead).includes(one));
    expect(both.length).toBeGreaterThanOrEqual(2);
  });
});
