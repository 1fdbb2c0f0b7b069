import { describe, expect, it } from "vitest";
import type { Condition, Item, Write } from "../../packages/holdfast/src/platform/table.js";
import { Protocol } from "../../verification/sim/protocol/protocol.js";

const KEY: Item = { pk: { S: "lock#a" }, sk: { S: "lease" } };
const DAYS_S = 10 * 24 * 3_600;
const s = (text: string) => ({ S: text });
const n = (number: number) => ({ N: String(number) });
const is = (attribute: string, value: { S: string } | { N: string }): Condition => ({
  kind: "equals",
  attribute,
  value,
});
const all = (...of: Condition[]): Condition => ({ kind: "all", of });
const isAbsent = (attribute: string): Condition => ({ kind: "absent", attribute });
const FREE = all(
  is("v", n(1)),
  { kind: "below", attribute: "fence", value: n(1e9) },
  isAbsent("holder"),
);

const free: Item = { ...KEY, v: n(1), version: n(4), fence: n(7) };
const held: Item = {
  ...free,
  ...{ holder: s("h"), version: n(5), fence: n(8), leaseMs: n(1_000), mark: s("h"), dataSeq: n(0) },
  expiresAt: n(DAYS_S),
};

function write(condition: Condition, set: Item, remove: readonly string[] = []): Write {
  return { key: KEY, condition, change: { set, remove } };
}

const PERMITS: Item = { pk: s("semaphore#a"), sk: s("lease") };
const permit = { M: { weight: n(1), session: s("x"), leaseMs: n(1_000) } };
const permitGrant: Write = {
  key: PERMITS,
  condition: all(...["permit#h", "withdrawn#h"].map(isAbsent)),
  change: { set: { "permit#h": permit }, remove: [] },
};
const permitRemoval: Write = {
  key: PERMITS,
  condition: { kind: "present", attribute: "permit#h" },
  change: { set: {}, remove: ["permit#h"] },
};
const sessionEnd: Write = {
  key: { pk: s("session#x"), sk: s("lease") },
  condition: is("holder", s("y")),
  change: { set: {}, remove: ["holder"] },
};

const claim = write(FREE, { holder: s("h") });
const renewal = write(all(is("holder", s("h")), is("fence", n(8))), { mark: s("m") });
const takeover = write(all(is("holder", s("h")), is("version", n(5))), { holder: s("i") });

/** A protocol at a time of its own, in which p1 has acquired the lock. */
function scene() {
  const found: string[] = [];
  let nowMs = 0;
  const protocol = new Protocol({
    terms: { isExclusive: true, maxClockDrift: 0.01 },
    nowMs: () => nowMs,
    trueWallMs: () => nowMs,
    fail: (invariant) => found.push(invariant),
  });
  const [p1, p2] = [protocol.observerOf("p1"), protocol.observerOf("p2")];
  const send = (by: typeof p1, one: Write) => by.sent({ kind: "write", write: one });
  const answer = (by: typeof p1, one: Write, kind: "applied" | "refused", item: Item) =>
    by.answered({ kind: "write", write: one, answer: { kind, item } });
  send(p1, claim);
  return {
    ...{ found, protocol, p1, p2, send, answer },
    pass: (ms: number) => {
      nowMs += ms;
    },
    applied: (one: Write, before: Item | undefined, after: Item | undefined, by = "p1") =>
      protocol.applied(by, one, before, after),
  };
}

type Case = readonly [rule: string, because: string, act: (at: ReturnType<typeof scene>) => void];

const BROKEN: readonly Case[] = [
  ["R1", "a grant replaces any holder", ({ applied }) => applied(write(all(), {}), free, held)],
  [
    "R2",
    "a holder renews after its deadline",
    ({ protocol, send, p1, pass }) => {
      const kept = {
        kind: "kept",
        by: "p1",
        name: "a",
        fence: 8n,
        sentMs: 0,
        leaseMs: 1_000,
      } as const;
      protocol.noted({ ...kept, atMs: 0 });
      pass(1_100);
      send(p1, renewal);
    },
  ],
  [
    "R2",
    "a waiter goes on with the ticket of a place that was removed",
    ({ send, applied, p1 }) => {
      const key: Item = { pk: s("queue#a"), sk: s(`ticket//${"9".padStart(38, "0")}`) };
      applied({ ...takeover, key, as: "delete" }, { ...held, ...key }, undefined, "p2");
      send(p1, write(FREE, { holder: s("j"), served: n(9) }));
    },
  ],
  [
    "R3",
    "a rival takes a record that it has just seen",
    ({ send, answer, p2 }) => {
      answer(p2, claim, "refused", held);
      send(p2, takeover);
    },
  ],
  [
    "R4",
    "a takeover names no version",
    ({ applied }) => {
      const after = { ...held, holder: s("i"), fence: n(9), version: n(6) };
      applied(write(is("holder", s("h")), { holder: s("i") }), held, after, "p2");
    },
  ],
  [
    "R5",
    "a change of length could be applied twice",
    ({ applied }) => applied(renewal, held, { ...held, version: n(6), leaseMs: n(2_000) }),
  ],
  [
    "R5",
    "the release of a permit that was asked for twice leaves no mark",
    ({ send, applied, p1 }) => {
      send(p1, permitGrant);
      send(p1, permitGrant);
      applied(permitRemoval, { ...PERMITS, "permit#h": permit }, PERMITS);
    },
  ],
  [
    "R6",
    "a holder renews after it has seen its loss",
    ({ send, answer, p1 }) => {
      answer(p1, renewal, "refused", { ...held, holder: s("i"), fence: n(9) });
      send(p1, renewal);
    },
  ],
  [
    "R7",
    "a rival renews the lease",
    ({ applied }) => applied(renewal, held, { ...held, version: n(6) }, "p2"),
  ],
  [
    "R8",
    "a holder renews after its loss was reported",
    ({ protocol, send, p1 }) => {
      const lost = { kind: "lost", by: "p1", name: "a", fence: 8n, reason: "stolen" } as const;
      protocol.noted({ ...lost, atMs: 0 });
      send(p1, renewal);
    },
  ],
  [
    "R9",
    "a grant keeps the fence",
    ({ applied }) => applied(claim, free, { ...held, fence: n(7) }),
  ],
  [
    "R9",
    "a grant lowers the number of calls for a run",
    ({ applied }) => applied(claim, { ...free, calls: n(5) }, { ...held, calls: n(4) }),
  ],
  [
    "R9",
    "a release counts a run of a call that nobody has made",
    ({ applied }) => {
      const { holder: _, ...rest } = held;
      const calls = { calls: n(5) };
      applied(renewal, { ...held, ...calls }, { ...rest, ...calls, ran: n(6) });
    },
  ],
  [
    "R9",
    "a record is deleted",
    ({ applied }) => applied({ ...claim, as: "delete" }, free, undefined),
  ],
  [
    "R10",
    "a live record could be deleted by TTL",
    ({ applied }) => applied(claim, free, { ...held, expiresAt: n(60) }),
  ],
  [
    "R11",
    "a condition compares the times of two machines",
    ({ send, p2 }) => send(p2, write({ kind: "below", attribute: "expiresAt", value: n(1) }, {})),
  ],
  [
    "R12",
    "a claim fits a record of any layout",
    ({ applied }) => {
      const blind = write({ kind: "absent", attribute: "holder" }, { holder: s("h") });
      applied(blind, free, held);
    },
  ],
  [
    "R13",
    "a closed client sends a request",
    ({ protocol, send, p1 }) => {
      protocol.closed("p1");
      send(p1, renewal);
    },
  ],
  [
    "R14",
    "a grant of a permit does not ask for its own mark",
    ({ applied }) => {
      const blind = { ...permitGrant, condition: isAbsent("permit#h") };
      applied(blind, { ...PERMITS, fence: n(1) }, { ...PERMITS, "permit#h": permit, fence: n(2) });
    },
  ],
  [
    "R14",
    "a session is ended while an attempt on it is neither answered nor withdrawn",
    ({ protocol, send, p1 }) => {
      const kept = { kind: "session kept", by: "p1", session: "x", sentMs: 0 } as const;
      protocol.noted({ ...kept, leaseMs: 1_000, atMs: 0 });
      send(p1, permitGrant);
      send(p1, sessionEnd);
    },
  ],
  [
    "R14",
    "a freed record names a session",
    ({ applied }) => {
      const { holder: _, ...rest } = held;
      applied(renewal, held, { ...rest, session: s("x") });
    },
  ],
];

describe("the interpreter of the protocol", () => {
  it.each(BROKEN)("refuses a break of %s: %s", (rule, _, act) => {
    const at = scene();
    act(at);
    expect(at.found).toContain(`trace ${rule}`);
  });

  it("accepts a claim, a renewal, a release, and a takeover after a whole watch", () => {
    const { found, send, answer, applied, pass, p1, p2 } = scene();
    applied(claim, free, held);
    answer(p1, claim, "applied", held);
    send(p1, renewal);
    applied(renewal, held, { ...held, version: n(6), mark: s("m") });
    answer(p1, renewal, "applied", { ...held, version: n(6), mark: s("m") });
    answer(p2, claim, "refused", held);
    pass(1_020);
    send(p2, takeover);
    applied(takeover, held, { ...held, holder: s("i"), version: n(6), fence: n(9) }, "p2");
    const { holder: _, ...rest } = held;
    applied(write(is("holder", s("h")), {}, ["holder"]), held, { ...rest, lastHolder: s("h") });
    expect(found).toEqual([]);
  });

  // Seed 9346 of kind "world": a late copy brought a deleted entry back, with its first version.
  it.each([
    ["accepts", 1_020, []],
    ["refuses", 1_000, ["trace R3"]],
  ] as const)(
    "%s the removal of an older entry of a queue after a watch of %i ms",
    (_, watchMs, violations) => {
      const { found, send, pass, p2 } = scene();
      const key: Item = {
        pk: s("queue#a"),
        sk: s(`ticket//${"9".padStart(38, "0")}`),
      };
      const entry: Item = { ...held, ...key };
      const query = { consistent: false } as never;
      const shows = (...items: Item[]) =>
        p2.answered({ kind: "query", query, answer: { kind: "page", items } } as never);
      shows({ ...entry, version: n(9) });
      shows(entry);
      pass(watchMs);
      send(p2, { ...write(takeover.condition, {}, []), key });
      expect(found).toEqual(violations);
    },
  );
});
