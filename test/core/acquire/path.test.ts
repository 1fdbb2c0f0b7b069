import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { afterEach, expect, it, vi } from "vitest";
import { Observations } from "../../../src/core/record/observation.js";
import { Holdfast } from "../../../src/index.js";

const MOST_FRAMES = 12;
const MOST_FILES = 6;

const stackTraceLimit = Error.stackTraceLimit;
afterEach(() => {
  Error.stackTraceLimit = stackTraceLimit;
  vi.restoreAllMocks();
});

/** The frames of this library on the stack now, the innermost first. */
function framesNow(): readonly string[] {
  const { stack = "" } = new Error("now");
  return stack.split("\n").filter((line) => /\/src\/[^)]*\.ts/.test(line));
}

const fileOf = (frame: string): string => /\/src\/([^):]*\.ts)/.exec(frame)?.[1] ?? frame;
const isTheLoop = (frame: string): boolean => frame.includes("AcquireLoop.run");

/**
 * The path of one acquisition, from the caller to the SDK's `send`. The loop is on the stack twice: before its first
 * wait, below all callers, and at `send`. A stack at `send` alone ends where a promise is shared.
 */
async function pathOfAcquiring(): Promise<readonly string[]> {
  Error.stackTraceLimit = 200;
  let outer: readonly string[] = [];
  let inner: readonly string[] = [];
  vi.spyOn(Observations.prototype, "takeStandBack").mockImplementation(() => {
    outer = framesNow();
    return undefined;
  });
  const client = new DynamoDBClient({ region: "eu-central-1" });
  client.send = async () => {
    if (inner.length === 0) inner = framesNow();
    throw Object.assign(new Error("no"), { name: "AccessDeniedException" });
  };
  const locks = new Holdfast({ client, table: "locks" });
  await expect(locks.mutex("a").acquire()).rejects.toMatchObject({ code: "access-denied" });
  await locks.close();
  expect(outer.some(isTheLoop) && inner.some(isTheLoop)).toBe(true);
  return [
    ...inner.slice(0, inner.findIndex(isTheLoop)),
    ...outer.slice(outer.findIndex(isTheLoop)),
  ];
}

it("acquires a free lock with few calls, straight through few files", async () => {
  const path = await pathOfAcquiring();
  const files = [...new Set(path.map(fileOf))];
  const shown = path.join("\n");
  expect(files[0]).toBe("platform/dynamodb/sdk.ts");
  expect(files.at(-1)).toMatch(/^locks\//);
  expect.soft(path.length, shown).toBeLessThanOrEqual(MOST_FRAMES);
  expect.soft(files.length, shown).toBeLessThanOrEqual(MOST_FILES);
  // The path enters each file only once.
  const visits = path.map(fileOf).filter((file, index, all) => file !== all[index - 1]);
  expect(visits, shown).toEqual(files);
});
