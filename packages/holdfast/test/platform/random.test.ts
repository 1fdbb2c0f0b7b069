import { describe, expect, it, vi } from "vitest";
import { idFrom, systemRandom } from "../../src/platform/random.js";

const BYTES = new Uint8Array(16).fill(7);
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

// As in a process restored from a snapshot together with the state of the random generator.
vi.mock("node:crypto", async (original) => ({
  ...(await original<typeof import("node:crypto")>()),
  randomBytes: () => BYTES,
}));

describe("an id", () => {
  it("is a random UUID, equal for equal bytes and moments", () => {
    expect(idFrom(BYTES, "now")).toMatch(UUID);
    expect(idFrom(BYTES, "now")).toBe(idFrom(BYTES, "now"));
    expect(idFrom(BYTES, "later")).not.toBe(idFrom(BYTES, "now"));
    expect(idFrom(new Uint8Array(16), "now")).not.toBe(idFrom(BYTES, "now"));
  });

  it("differs at every moment, even if the generator repeats its bytes", () => {
    const ids = Array.from({ length: 1_000 }, () => systemRandom.id());
    expect(new Set(ids).size).toBe(1_000);
    for (const id of ids) expect(id).toMatch(UUID);
  });
});
