import { afterAll, beforeAll, expect, it } from "vitest";
import { fairLock } from "../../packages/holdfast/src/index.js";
import { describeOnDynamoDBLocal } from "../support/dynamodb-local.js";
import { ProcessScene } from "../support/process-scene.js";
import { pause } from "../support/sdk.js";
import type { Worker } from "../support/worker.js";

const LEASE_MS = 2_000;
const BOUND_MS = 500;
// The wall clock's allowance of a first grant, and the steps of two `Date`s.
const STEPS_MS = 3_000;
const OPTIONS = { lease: LEASE_MS, maxClockError: `${BOUND_MS}ms` } as const;

interface Answer {
  readonly granted: boolean;
  readonly requests: number;
  /** Before the process asked, and after it had the answer. */
  readonly askedMs: number;
  readonly atMs: number;
}

const nowMs = (): number => Number(process.hrtime.bigint()) / 1e6;
const msOf = (ns: unknown): number => Number(ns) / 1e6;

describeOnDynamoDBLocal("a dead holder, and processes that ask once", (endpoint) => {
  let scene: ProcessScene;
  beforeAll(async () => {
    scene = await ProcessScene.open(endpoint());
  });
  afterAll(() => scene.close());

  const start = (kind: string, role: "holds" | "asks", options: object = OPTIONS): Worker =>
    scene.worker("cold", { name: kind, kind, role, leaseMs: LEASE_MS, options });

  /** Starts a process that asks once. */
  async function ask(kind: string): Promise<Answer> {
    const asker = start(kind, "asks");
    const asked = await asker.says("asks");
    const said = await asker.says("answered");
    return {
      granted: said["granted"] === true,
      requests: Number(said["requests"]),
      askedMs: msOf(asked.atNs),
      atMs: msOf(said.atNs),
    };
  }

  /** Starts a holder, and kills it after `livesMs`. Returns its last deadline, and the instant of the kill. */
  async function killed(kind: string, livesMs: number, options?: object) {
    const holder = start(kind, "holds", options);
    await holder.says("held");
    await pause(livesMs);
    holder.signal("SIGKILL");
    await holder.exited();
    const deadlines = holder.said.map(({ untilNs }) => msOf(untilNs ?? 0));
    return { deadlineMs: Math.max(0, ...deadlines), killedMs: nowMs() };
  }

  /** Starts one process after another until one is granted. Returns the answers in order. */
  async function askUntilGranted(kind: string): Promise<[refused: Answer[], granted: Answer]> {
    const refused: Answer[] = [];
    const untilMs = nowMs() + 5 * (LEASE_MS + BOUND_MS + STEPS_MS);
    while (nowMs() < untilMs) {
      const answer = await ask(kind);
      if (answer.granted) return [refused, answer];
      refused.push(answer);
    }
    throw new Error("It was never granted.");
  }

  /** The longest time after the kill at which a process still asked in vain. */
  const lateMs = (refused: Answer[], killedMs: number): number =>
    Math.max(killedMs, ...refused.map(({ askedMs }) => askedMs)) - killedMs;

  // What a grant costs: the refused claim and the takeover. `lambda` also releases, a multi-lock reads both records before
  // its transaction, a session costs a read and its end, and `once` reads twice and writes the occurrence and its end. A
  // process that asks just when the `Date` shows the end, and its wall clock not yet, reads once more.
  it.each([
    { kind: "mutex", requests: 2, livesMs: 1_500 },
    { kind: "lambda", requests: 3, livesMs: 200 },
    { kind: "once", requests: 5, livesMs: 1_500 },
    { kind: "fair", requests: 2, livesMs: 1_500 },
    { kind: "multi", requests: 3, livesMs: 1_500 },
    { kind: "session", requests: 4, livesMs: 2_500 },
  ])(
    "gives what it held ($kind) to the first that asks after lease and bound",
    async ({ kind, requests, livesMs }) => {
      const { deadlineMs, killedMs } = await killed(kind, livesMs);
      expect(deadlineMs).toBeGreaterThan(0);
      const [refused, granted] = await askUntilGranted(kind);
      expect(granted.atMs).toBeGreaterThan(deadlineMs);
      expect(lateMs(refused, killedMs)).toBeLessThan(LEASE_MS + BOUND_MS + STEPS_MS);
      expect(granted.requests).toBeOneOf([requests, requests + 1]);
    },
    60_000,
  );

  it("frees the queue of a dead waiter", async () => {
    const holder = scene.locks({ lease: "10s" });
    const held = await fairLock(holder, "waiter").acquire();
    const { killedMs } = await killed("waiter", 200);
    await held.release();
    const [refused, granted] = await askUntilGranted("waiter");
    expect(lateMs(refused, killedMs)).toBeLessThan(LEASE_MS + BOUND_MS + STEPS_MS);
    // The refused claim, a read of the queue, the removal of the entry, a ticket, a second read, and the claim.
    expect(granted.requests).toBe(6);
  }, 60_000);
});
