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

  it.each([
    ["me", "released by force"],
    ["other", undefined],
  ] as const)("that finds %s told to end is lost by that, or not", (holder, reason) => {
    const forced = { holder, by: "alice", reason: "it hangs", at: "", now: false };
    expect(lossIn({ ...held("me", 7n), forced } as Found, { holder: "me", fence: 7n })).toBe(
      reason,
    );
    const freed: Found = { state: "free", ...known, forced };
    expect(lossIn(freed, { holder: "me", fence: 7n })).toBe(reason ?? "released elsewhere");
  });

  const WORDS: readonly (readonly [LossReason, string])[] = [
    ["stolen", "the record names another holder"],
    ["expired", "its deadline passed before a renewal was answered"],
    ["deleted", "its record is gone"],
    ["released elsewhere", "its record was freed by somebody else"],
    ["released by force", "somebody released it by force"],
    ["lost with another", "a lock that was acquired together with it was lost"],
    ["session ended", "the session that it lived by has ended"],
    ["exported", "it was exported to another process"],
    ["closed", "the client was closed"],
  ];

  it.each(WORDS)("that is lost says why: %s", (reason, words) => {
    const cause = new Error("the last trouble");
    const ref = { kind: "lock", name: "a", key: {}, id: "lock#a" } as const;
    expect(lossError(ref, reason, cause)).toMatchObject({
      code: "lost",
      lockName: "a",
      reason,
      cause,
      message: `Lock "a" is no longer held: ${words}. Stop what it protected.`,
    });
  });
});
