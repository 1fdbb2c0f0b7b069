import { GetItemCommand } from "@aws-sdk/client-dynamodb";
import { describe, expect, it } from "vitest";
import { mutex } from "../../packages/holdfast/src/index.js";
import { ProcessScene } from "../support/process-scene.js";
import { pause } from "../support/sdk.js";
import { shared } from "../support/shared.js";

const LEASE_MS = 600;

interface Resumption {
  /** The user code that runs first after the pause. */
  readonly runs: "the middle of a function" | "a timer" | "an answer";
  /** The questions, in this order. */
  readonly asks: readonly string[];
}

const RESUMPTIONS: readonly Resumption[] = [
  { runs: "the middle of a function", asks: ["assertHeld", "aborted", "transaction"] },
  { runs: "the middle of a function", asks: ["aborted", "assertHeld", "transaction"] },
  { runs: "the middle of a function", asks: ["throwIfAborted", "remainingMs", "transaction"] },
  { runs: "the middle of a function", asks: ["isHeld", "aborted", "transaction"] },
  { runs: "the middle of a function", asks: ["transaction", "assertHeld", "aborted"] },
  { runs: "a timer", asks: ["aborted", "assertHeld", "transaction"] },
  { runs: "an answer", asks: ["assertHeld", "aborted", "transaction"] },
];

const LOST = { code: "lost", reason: "expired" };
const EXPECTED: Readonly<Record<string, unknown>> = {
  assertHeld: LOST,
  throwIfAborted: LOST,
  aborted: true,
  isHeld: false,
  remainingMs: 0,
  transaction: "TransactionCanceledException",
};

const scene = await shared(ProcessScene.open());

describe("a holder stopped for twice the length of the lease", () => {
  it.concurrent.each(RESUMPTIONS)(
    "detects in $runs the end of the lease, in the order $asks",
    async (one) => {
      const name = `${one.runs} ${one.asks}`;
      const task = { name, ...one, longestGapMs: LEASE_MS, options: { lease: `${LEASE_MS}ms` } };
      const holder = scene.worker("resumed", task);
      const { fence } = await holder.says("held");
      holder.signal("SIGSTOP");
      const stoppedMs = performance.now();
      const rival = scene.locks({ poll: { min: "20ms", max: "50ms" } });
      const lease = await mutex(rival, name).acquire({ lease: "30s" });
      expect(lease.fence).toBe(BigInt(String(fence)) + 1n);
      await pause(2 * LEASE_MS - (performance.now() - stoppedMs));
      holder.signal("SIGCONT");
      const resumed = await holder.says("resumed");
      const answers = Object.fromEntries(one.asks.map((ask) => [ask, EXPECTED[ask]]));
      // Composed signals abort at the first question, and the loss is reported once.
      expect(resumed).toMatchObject({ first: one.runs, answers, composed: true, told: 1 });
      expect(await scene.client.send(written(name))).not.toHaveProperty("Item");
      expect(lease.isHeld).toBe(true);
      expect(await holder.exited()).toMatchObject({ code: 0 });
      expect(holder.errors).toBe("");
    },
  );

  function written(name: string): GetItemCommand {
    const Key = { pk: { S: `written ${name}` }, sk: { S: "x" } };
    return new GetItemCommand({ TableName: scene.table, Key, ConsistentRead: true });
  }

  it("detects the same after blocking the event loop, and run() rejects", async () => {
    const task = { name: "blocked", blockMs: 2 * LEASE_MS, options: { lease: `${LEASE_MS}ms` } };
    const holder = scene.worker("blocked", task);
    const { fence } = await holder.says("held");
    const rival = scene.locks({ poll: { min: "20ms", max: "50ms" } });
    const lease = await mutex(rival, "blocked").acquire({ lease: "30s" });
    expect(lease.fence).toBe(BigInt(String(fence)) + 1n);
    const unblocked = await holder.says("unblocked");
    expect(unblocked).toMatchObject({ remainingMs: 0, isHeld: false, aborted: true });
    expect(await holder.says("rejected")).toMatchObject(LOST);
    expect(await holder.exited()).toMatchObject({ code: 0 });
    expect(holder.errors).toBe("");
  });
});
