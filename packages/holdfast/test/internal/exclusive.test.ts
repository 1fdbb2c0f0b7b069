import { describe, expect, it } from "vitest";
import { Exclusive } from "../../src/internal/exclusive.js";

describe("Exclusive", () => {
  it("runs tasks one after another, in the order of the calls", async () => {
    const exclusive = new Exclusive();
    const log: string[] = [];
    const task = (name: string, turns: number) => async () => {
      log.push(`${name} begins`);
      for (let turn = 0; turn < turns; turn += 1) await Promise.resolve();
      log.push(`${name} ends`);
      return name;
    };
    const results = await Promise.all([
      exclusive.run(task("a", 10)),
      exclusive.run(task("b", 1)),
      exclusive.run(task("c", 0)),
    ]);
    expect(results).toEqual(["a", "b", "c"]);
    expect(log).toEqual(["a begins", "a ends", "b begins", "b ends", "c begins", "c ends"]);
  });

  it("continues after a failed task, and rejects only for the task's caller", async () => {
    const exclusive = new Exclusive();
    const failing = exclusive.run(() => Promise.reject(new Error("failed")));
    const throwing = exclusive.run(() => {
      throw new Error("thrown");
    });
    const next = exclusive.run(async () => "next");
    await expect(failing).rejects.toThrow("failed");
    await expect(throwing).rejects.toThrow("thrown");
    expect(await next).toBe("next");
  });

  it("does not start a task within the call", () => {
    let began = false;
    const done = new Exclusive().run(async () => {
      began = true;
    });
    expect(began).toBe(false);
    return done;
  });
});
