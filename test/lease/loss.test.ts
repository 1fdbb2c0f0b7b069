import { describe, expect, it } from "vitest";
import type { LossReason } from "../../src/index.js";
import { lossError, lossIn } from "../../src/lease/loss.js";
import type { Found } from "../../src/lease/record.js";

const known = {
  fence: 7n,
  version: 3n,
  queue: { tail: undefined, served: undefined },
  lastHolder: undefined,
  owner: undefined,
  acquiredAt: undefined,
  data: undefined,
};
const held = (holder: string, fence: bigint): Found => ({
  state: "held",
  ...known,
  fence,
  holder,
  leaseMs: 1_000,
  session: undefined,
  mark: undefined,
  dataSeq: 0,
});

describe("a grant", () => {
  const FOUND: readonly [title: string, found: Found, reason: LossReason | undefined][] = [
    ["its own holder and fence", held("me", 7n), undefined],
    ["another holder under its fence", held("other", 7n), "stolen"],
    ["its holder under another fence", held("me", 8n), "stolen"],
    ["nobody", { state: "free", ...known }, "released elsewhere"],
    ["no record", { state: "absent" }, "deleted"],
    ["something else", { state: "foreign", found: "is none" }, "deleted"],
    ["a newer layout", { state: "unsupported", found: "has layout 2" }, "deleted"],
  ];

  it.each(FOUND)("that finds %s at its record is lost, or not", (_title, found, reason) => {
    expect(lossIn(found, { holder: "me", fence: 7n })).toBe(reason);
  });

  it("that lived by a session which ended says so", () => {
    const cause = new Error("the last trouble");
    const ref = { kind: "lock", name: "a", key: {}, id: "lock#a" } as const;
    expect(lossError(ref, "session ended", cause)).toMatchObject({
      code: "lost",
      lockName: "a",
      reason: "session ended",
      cause,
      message:
        'Lock "a" is no longer held: the session that it lived by has ended. Stop what it protected.',
    });
  });
});
