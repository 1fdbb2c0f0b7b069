import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { mutex } from "../../packages/holdfast/src/index.js";
import { ProcessScene } from "../support/process-scene.js";

// Node.js warns of a memory leak from the eleventh listener on a signal, and an application's users see the
// warning: the library's own signals must accept a listener for each lock.
describe("many locks in one process", () => {
  let scene: ProcessScene;
  const warnings: string[] = [];
  const note = (warning: Error): void => void warnings.push(`${warning.name}: ${warning.message}`);

  beforeAll(async () => {
    scene = await ProcessScene.open();
  });
  afterAll(() => scene.close());
  beforeEach(() => {
    warnings.length = 0;
    process.on("warning", note);
  });
  afterEach(() => {
    process.off("warning", note);
  });

  /** Warnings are emitted a turn of the loop later. */
  const told = async (): Promise<readonly string[]> => {
    await new Promise((resolve) => setTimeout(resolve, 10));
    return warnings.filter((warning) => !warning.includes("NodeVersionSupport"));
  };

  it("are awaited without a warning", async () => {
    const locks = scene.locks();
    const names = Array.from({ length: 30 }, (_, index) => `waited ${index}`);
    await Promise.all(names.map((name) => mutex(locks, name).run(() => undefined)));
    await Promise.all(names.map(() => mutex(locks, "one").run(() => undefined)));
    expect(await told()).toEqual([]);
  });

  it("are closed without a warning", async () => {
    const locks = scene.locks();
    const names = Array.from({ length: 30 }, (_, index) => `closed ${index}`);
    for (const name of names) await mutex(locks, name).acquire();
    await locks.close();
    expect(await told()).toEqual([]);
    const other = scene.locks();
    for (const name of names) expect(await mutex(other, name).tryAcquire()).not.toBeNull();
  });
});
