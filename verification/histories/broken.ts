import type { Operation } from "./operations.js";

/** The models of a checker: a lock with fences, and a register behind `condition()`. */
type Model = "lock" | "register";

/** A change of the sound history which breaks one rule: without this rule, a model accepts the change. */
export interface Broken {
  readonly reason: string;
  readonly refusedBy: readonly Model[];
  readonly operations: readonly Operation[];
}

type Part = Pick<Operation, "op" | "client"> & Partial<Operation>;

function operation(call: number, end: number | undefined, part: Part): Operation {
  const common = { name: "a", register: "r", outcome: "ok", call } as const;
  return { ...common, ...(end === undefined ? {} : { return: end }), ...part };
}

/**
 * A short history that the rules allow: two clients, a release, a takeover after a pause, a guarded write of the former
 * holder that is refused, a write with an unknown outcome that was applied, and one of a former holder that was not.
 */
export const SOUND: readonly Operation[] = [
  operation(0, 5, { op: "acquire", client: "p1", fence: "1" }),
  operation(2, 3, { op: "record", client: "p1", fence: "1" }),
  operation(6, 7, { op: "held", client: "p1", fence: "1" }),
  operation(8, 11, { op: "write", client: "p1", fence: "1", from: "", to: "x" }),
  operation(12, 17, { op: "release", client: "p1", fence: "1" }),
  operation(10, 19, { op: "acquire", client: "p2", fence: "2" }),
  operation(14, 15, { op: "record", client: "p2", fence: "2" }),
  operation(20, 21, { op: "held", client: "p2", fence: "2" }),
  operation(22, undefined, {
    op: "write",
    client: "p2",
    outcome: "unknown",
    fence: "2",
    from: "x",
    to: "y",
  }),
  operation(26, 27, { op: "held", client: "p2", fence: "2" }),
  operation(20, 41, { op: "acquire", client: "p1", fence: "5" }),
  operation(36, 37, { op: "record", client: "p1", fence: "5" }),
  operation(42, 45, { op: "write", client: "p2", outcome: "refused", fence: "2" }),
  operation(28, 47, { op: "lost", client: "p2", fence: "2" }),
  operation(48, 49, { op: "write", client: "p1", fence: "5", from: "y", to: "z" }),
  operation(50, 51, { op: "held", client: "p1", fence: "5" }),
  operation(52, undefined, { op: "write", client: "p2", outcome: "unknown", fence: "2" }),
  operation(60, 61, { op: "read", client: "end", to: "z" }),
];

const and = (...more: readonly Operation[]): Operation[] => [...SOUND, ...more];

function edit(changes: Readonly<Record<number, Partial<Operation>>>): Operation[] {
  return SOUND.map((before, at) => ({ ...before, ...changes[at] }));
}

export const BROKEN: readonly Broken[] = [
  {
    reason: "p3 acquires the lock before p1, which holds it, begins to release it",
    refusedBy: ["lock"],
    operations: and(
      operation(52, 53, { op: "acquire", client: "p3", fence: "6" }),
      operation(54, 55, { op: "release", client: "p1", fence: "5" }),
    ),
  },
  {
    reason: "the same fence is handed out twice",
    refusedBy: ["lock"],
    operations: and(
      operation(52, 53, { op: "release", client: "p1", fence: "5" }),
      operation(54, 55, { op: "acquire", client: "p3", fence: "5" }),
    ),
  },
  {
    reason: "a later acquisition gets a lower fence",
    refusedBy: ["lock"],
    operations: and(
      operation(52, 53, { op: "release", client: "p1", fence: "5" }),
      operation(54, 55, { op: "acquire", client: "p3", fence: "4" }),
    ),
  },
  {
    reason: "p2 finds its lease held after it reported the loss",
    refusedBy: ["lock"],
    operations: and(operation(50, 51, { op: "held", client: "p2", fence: "2" })),
  },
  {
    reason: "p1 finds its lease held after the release",
    refusedBy: ["lock"],
    operations: and(operation(18, 19, { op: "held", client: "p1", fence: "1" })),
  },
  {
    reason: "p2 finds its lease held after the table had granted the lock to p1",
    refusedBy: ["lock"],
    operations: edit({ 9: { call: 38, return: 39 } }),
  },
  {
    reason: "the fence of the record goes back",
    refusedBy: ["lock", "register"],
    operations: and(operation(54, 55, { op: "record", client: "p3", fence: "2" })),
  },
  {
    reason: "a guarded write of the former holder is applied after the next grant",
    refusedBy: ["register"],
    operations: edit({ 12: { outcome: "ok", from: "y", to: "w" }, 14: { from: "w" } }),
  },
  {
    reason: "an acknowledged write is lost: another write replaces the value before it",
    refusedBy: ["register"],
    operations: edit({ 14: { from: "" } }),
  },
  {
    reason: "the last read returns a value that a later acknowledged write replaced",
    refusedBy: ["register"],
    operations: edit({ 16: { to: "y" } }),
  },
];
