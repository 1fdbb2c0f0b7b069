import { describe, expect, it } from "vitest";
import { ProcessScene } from "../../../../test/support/process-scene.js";
import { pause } from "../../../../test/support/sdk.js";
import { shared } from "../../../../test/support/shared.js";
import { inspect, mutex } from "../../src/index.js";

// On a busy machine an answer may take a second.
const TIMEOUT_MS = 3_000;

const scene = await shared(ProcessScene.open());

describe("a frozen Lambda function", () => {
  const start = (name: string) => scene.worker("lambda", { name, timeoutMs: TIMEOUT_MS });

  it("has no lock and no overdue work between two invocations", async () => {
    const worker = start("between");
    const { resources } = await worker.says("returned 1");
    expect(resources).not.toContain("Timeout");
    worker.signal("SIGSTOP");
    expect((await inspect(scene.locks(), "between")).state).toBe("free");
    const lease = await mutex(scene.locks(), "between").acquire();
    await pause(TIMEOUT_MS);
    worker.signal("SIGCONT");
    await pause(300);
    expect(lease.isHeld).toBe(true);
    worker.signal("SIGUSR2");
    expect(await worker.says("rejected 2")).toMatchObject({ code: "not-acquired" });
    expect(await worker.exited()).toMatchObject({ code: 0 });
    expect(worker.errors).toBe("");
    await lease.release();
  });

  it("detects the loss at thaw in the middle of an invocation, before acting again", async () => {
    const worker = start("middle");
    await worker.says("returned 1");
    worker.signal("SIGUSR2");
    expect(await worker.says("acted")).toMatchObject({ isHeld: true });
    const rival = scene.locks({ poll: { min: "20ms", max: "50ms" } });
    const lease = await mutex(rival, "middle").acquire({ wait: "20s" });
    worker.signal("SIGCONT");
    // The clocks answer the first check.
    expect(await worker.says("thawed")).toMatchObject({
      aborted: true,
      isHeld: false,
      remainingMs: 0,
    });
    expect(await worker.says("rejected 2")).toMatchObject({ code: "lost", reason: "expired" });
    expect(lease.isHeld).toBe(true);
    expect(await worker.exited()).toMatchObject({ code: 0 });
    await lease.release();
  });
});
