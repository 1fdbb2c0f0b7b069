import { describe, expect, it } from "vitest";
import { sourceOf } from "../../src/thread/credentials.js";

const KEYS = { accessKeyId: "a", secretAccessKey: "b" };
const NOW_MS = 1_700_000_000_000;

describe("the credentials of a thread", () => {
  it.each([
    ["its own, without credentials of the main thread", undefined, "own"],
    ["the main thread's, if they never expire", KEYS, "sent"],
    ["the main thread's, up to a minute before the expiry", expiringIn(60_001), "sent"],
    ["its own, from a minute before the expiry", expiringIn(60_000), "own"],
    ["its own, after the expiry", expiringIn(-1), "own"],
  ] as const)("are %s", (_title, sent, expected) => {
    expect(sourceOf(sent, NOW_MS)).toBe(expected);
  });
});

function expiringIn(ms: number) {
  return { ...KEYS, expiration: new Date(NOW_MS + ms) };
}
