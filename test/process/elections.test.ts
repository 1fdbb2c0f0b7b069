import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { ProcessScene } from "../support/process-scene.js";

let scene: ProcessScene;
beforeAll(async () => {
  scene = await ProcessScene.open();
});
afterAll(() => scene.close());

// What a request is told by that nobody answered in time, or that was refused for now: see docs/errors.md.
const TROUBLE = ["unreachable", "throttled", "outcome-unknown"];

const LENGTHS = { lease: 1_000, renew: 200, poll: 100 };

describe("a worker that blocks its process past the deadline", () => {
  it("cannot write under its term any more, and learns so in the next line of its code", async () => {
    const worker = scene.worker("wedged", { name: "pool", lengths: LENGTHS, blockMs: 3_000 });
    expect(await worker.says("leads")).toMatchObject({ before: null });
    const term = await scene.locks().election("pool", LENGTHS).campaign();
    expect(await worker.says("wrote")).toMatchObject({
      isLeading: false,
      aborted: true,
      after: "TransactionCanceledException",
    });
    expect(term.isLeading).toBe(true);
    await term.resign();
  });
});

describe("two processes with node-cron on one schedule, whose clocks are 22 s apart", () => {
  it("run each occurrence once", { timeout: 90_000 }, async () => {
    // No multiple of the schedule's 4 s: whoever comes while another runs an earlier occurrence is told so, and
    // skips its own.
    const ahead = scene.worker("cron", { name: "report", skewMs: 22_000 });
    const behind = scene.worker("cron", { name: "report", skewMs: 0 });
    await Promise.all([ahead.says("scheduled"), behind.says("scheduled")]);
    // Until the one behind has come to occurrences that the other has run before.
    await new Promise((resolve) => setTimeout(resolve, 37_000));
    const of = (event: string, worker: typeof ahead) =>
      worker.said.filter((one) => one.event === event).map(({ occurrence }) => String(occurrence));
    const ran = [...of("ran", ahead), ...of("ran", behind)];
    // Nobody comes to an occurrence before the one ahead: it runs every one that node-cron does not miss, but
    // those about which a machine that is too busy did not answer in time.
    const unanswered = of("unanswered", ahead);
    expect(of("skipped", ahead)).toEqual(unanswered);
    // Of either: any other error would be a mistake, which a busy machine does not excuse.
    const codes = [ahead, behind].flatMap(({ said }) =>
      said.filter(({ event }) => event === "unanswered").map(({ code }) => code),
    );
    expect(codes.filter((code) => !TROUBLE.includes(String(code)))).toEqual([]);
    const came = [...of("ran", ahead), ...of("missed", ahead), ...unanswered];
    expect(came.length).toBeGreaterThanOrEqual(8);
    expect(of("ran", ahead).length).toBeGreaterThanOrEqual(3);
    expect(new Set(ran).size).toBe(ran.length);
    // Of the occurrences that both came to, each was skipped by one of them.
    const both = of("skipped", behind).filter((one) => of("ran", ahead).includes(one));
    expect(both.length).toBeGreaterThanOrEqual(2);
  });
});
