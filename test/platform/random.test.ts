import { describe, expect, it, vi } from "vitest";
import { idFrom, systemRandom } from "../../src/platform/random.js";

const BYTES = new Uint8Array(16).fill(7);
const UUID = /^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$/;

// As in a process that was restored from a snapshot, with the generator's state in it.
vi.mock("node:crypto", async (original) => ({
  ...(await original<typeof import("node:crypto")>()),
  randomBytes: () => BYTES,
}));

describe("an id", () => {
  it("is a UUID of the random kind, always the same of the same bytes and moment", () => {
    expect(idFrom(BYTES, "now")).toMatch(UUID);
    expect(idFrom(BYTES, "now")).toBe(idFrom(BYTES, "now"));
    expect(idFrom(BYTES, "later")).not.toBe(idFrom(BYTES, "now"));
    expect(idFrom(new Uint8Array(16), "now")).not.toBe(idFrom(BYTES, "now"));
  });

  it("is drawn anew at every moment, though the generator gives the same bytes again", () => {
    const ids = Array.from({ length: 1_000 }, () => systemRandom.id());
    expect(new Set(ids).size).toBe(1_000);
    for (const id of ids) expect(id).toMatch(UUID);
  });
});
