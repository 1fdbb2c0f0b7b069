import { describe, expect, it } from "vitest";
import { expectErrorToBe } from "../../../../../test/support/errors.js";
import { lossError, lossIn } from "../../../src/core/hold/loss.js";
import type { RecordRef } from "../../../src/core/record/format.js";
import type { Found } from "../../../src/core/record/record.js";
import type { LossTiming } from "../../../src/errors.js";
import type { LossReason } from "../../../src/index.js";

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
    ["nobody", { state: "free", ...known }, "released-elsewhere"],
    ["no record", { state: "absent" }, "deleted"],
    ["something else", { state: "foreign", found: "is none" }, "deleted"],
    ["a newer layout", { state: "unsupported", found: "has layout 2" }, "deleted"],
  ];

  it.each(FOUND)("with %s in the record is lost or not", (_title, found, reason) => {
    expect(lossIn(found, { holder: "me", fence: 7n })).toBe(reason);
  });

  it.each([
    ["me", "released-by-force"],
    ["other", undefined],
  ] as const)("with a forced release of %s in the record is lost or not", (holder, reason) => {
    const forced = { holder, by: "alice", reason: "it hangs", at: "", now: false };
    const request = { ...forced, kind: "release" } as const;
    expect(lossIn({ ...held("me", 7n), request } as Found, { holder: "me", fence: 7n })).toBe(
      reason,
    );
    const freed: Found = { state: "free", ...known, request };
    expect(lossIn(freed, { holder: "me", fence: 7n })).toBe(reason ?? "released-elsewhere");
  });

  it.each(["prefer", "resign"] as const)("is not lost by a request to %s", (kind) => {
    const request = { kind, holder: "me" };
    const found = { ...held("me", 7n), request } as Found;
    expect(lossIn(found, { holder: "me", fence: 7n })).toBeUndefined();
  });

  it.each([
    ["lock", 'Lock "a"'],
    ["session", 'Session "a"'],
  ] as const)("of kind %s is named so by its loss", (kind, title) => {
    const ref = { kind, name: "a" } as RecordRef;
    expect(lossError(ref, "stolen", undefined).message).toContain(title);
  });

  const REASONS: readonly LossReason[] = [
    "stolen",
    "expired",
    "deleted",
    "released-elsewhere",
    "released-by-force",
    "lost-with-another",
    "session-ended",
    "exported",
    "forgotten",
    "held-too-long",
    "closed",
  ];
  const ref = { kind: "lock", name: "a", key: {}, id: "lock#a" } as const;

  it.each(REASONS)("names the reason of a loss: %s", (reason) => {
    const cause = new Error("the last trouble");
    const error = lossError(ref, reason, cause);
    expectErrorToBe(error, { code: "lost", lockName: "a", reason });
    expect(error.cause).toBe(cause);
  });

  it("has a separate message for each reason", () => {
    const messages = REASONS.map((reason) => lossError(ref, reason, undefined).message);
    expect(new Set(messages).size).toBe(REASONS.length);
  });
});

describe("the error of a lease whose deadline passed", () => {
  const REF = { kind: "lock", name: "a" } as RecordRef;
  const messageOf = (timing: LossTiming, reason: LossReason = "expired"): string =>
    lossError(REF, reason, undefined, { timing }).message;
  const ON_TIME = { silentMs: 30_000, lateMs: 99, stalledMs: 99 };

  it("says when DynamoDB acknowledged the last request, and no more if the timer came in time", () => {
    const message = messageOf(ON_TIME);
    expect(message).toMatch(/\b30\.0 s\b/);
    expect(message).not.toMatch(/\b(?:event loop|suspended)\b/);
  });

  it("names the event loop if the process did not run for 100 ms", () => {
    const message = messageOf({ ...ON_TIME, stalledMs: 100, lateMs: 4_000 });
    expect(message).toMatch(/\b0\.1 s\b.*\bevent loop\b/);
    expect(message).not.toMatch(/\bsuspended\b/);
  });

  it("names a suspended machine if only the deadline is 100 ms past", () => {
    const message = messageOf({ ...ON_TIME, lateMs: 100 });
    expect(message).toMatch(/\b0\.1 s ago\b.*\bsuspended\b/);
    expect(message).not.toMatch(/\bevent loop\b/);
  });

  it("says nothing of times if the lease was lost for another reason", () => {
    expect(messageOf({ ...ON_TIME, stalledMs: 9_000 }, "stolen")).not.toMatch(/\d s\b/);
  });
});
