import type { Operation } from "../histories/operations.js";

/**
 * Formats operations for Knossos: an EDN map per history, `{:model M, :key K, :history [...]}`. The histories are
 * independent: one of each lock, and one of each register with the records of its lock.
 */
export function ednOf(operations: readonly Operation[]): string {
  const locks = byKey(lockCalls(operations), ({ name }) => name);
  const registers = byKey(registerCalls(operations), registerOf);
  return [
    ...[...locks].map(([name, calls]) => historyOf("lock", name, calls)),
    ...[...registers].map(([key, calls]) => historyOf("register", key, calls)),
  ].join("");
}

/**
 * What Knossos calls an operation. `:ok` happened between its call and its return, `:fail` did not happen, and `:info`
 * happened at any time after its call, or not at all.
 */
interface Call extends Operation {
  readonly f: Operation["op"] | "expire";
  readonly type: "ok" | "fail" | "info";
}

const TYPES = { ok: "ok", none: "fail", refused: "fail", unknown: "info" } as const;

function callOf(operation: Operation): Call {
  return { ...operation, f: operation.op, type: TYPES[operation.outcome] };
}

const registerOf = ({ name, register = "" }: Operation): string =>
  register === "" ? name : `${name} ${register}`;

/**
 * The operations on locks. A lease whose end no client told, because its process was killed or its release was not
 * acknowledged, may expire at any time after it was last held.
 */
function lockCalls(operations: readonly Operation[]): Call[] {
  const lastHeld = new Map<string, Operation>();
  const told = new Set<string>();
  const calls: Call[] = [];
  for (const operation of operations) {
    const { op, outcome, name, fence } = operation;
    if (op === "write" || op === "read") continue;
    // A grant that no client learnt of changes at most the record, which other operations show.
    if (outcome === "unknown") continue;
    calls.push(callOf(operation));
    const lease = `${name} ${fence}`;
    if (op === "release" || op === "lost") told.add(lease);
    if ((op === "acquire" || op === "held") && outcome === "ok") {
      const before = lastHeld.get(lease);
      if (endOf(operation) > (before === undefined ? -1 : endOf(before)))
        lastHeld.set(lease, operation);
    }
  }
  for (const [lease, operation] of lastHeld) {
    if (told.has(lease)) continue;
    calls.push({ ...callOf(operation), f: "expire", type: "info", call: endOf(operation) + 1 });
  }
  return calls;
}

/**
 * The operations on registers. A write with an unknown outcome is left out unless another operation shows its value:
 * the write can have been applied after the end.
 */
function registerCalls(operations: readonly Operation[]): Call[] {
  const registers = new Map<string, Map<string, Operation>>();
  const shown = new Set<string>();
  for (const operation of operations) {
    const { op, name, from, to, register = "" } = operation;
    if (op !== "write" && op !== "read") continue;
    registers.set(name, (registers.get(name) ?? new Map()).set(register, operation));
    if (from !== undefined) shown.add(from);
    if (op === "read" && to !== undefined) shown.add(to);
  }
  return operations.flatMap((operation) => {
    const { op, name, outcome, to } = operation;
    if (op === "record") {
      const keys = [...(registers.get(name)?.keys() ?? [])];
      return keys.map((register) => callOf({ ...operation, register }));
    }
    if (op !== "write" && op !== "read") return [];
    const isLeftOut = outcome === "unknown" && (to === undefined || !shown.has(to));
    return isLeftOut ? [] : [callOf(operation)];
  });
}

function byKey(calls: readonly Call[], keyOf: (call: Call) => string): Map<string, Call[]> {
  const parts = new Map<string, Call[]>();
  for (const call of calls) {
    const key = keyOf(call);
    const part = parts.get(key);
    if (part === undefined) parts.set(key, [call]);
    else part.push(call);
  }
  return parts;
}

const endOf = ({ return: end = Number.POSITIVE_INFINITY }: Operation): number => end;

/** JSON's strings are EDN's, too. */
const stringOf = (value: string | undefined): string =>
  value === undefined ? "nil" : JSON.stringify(value);

/** The argument of an operation. A fence is a number, so that the models can compare fences. */
function argumentOf({ f, fence = "nil", from, to }: Call): string {
  if (f === "read") return stringOf(to);
  if (f === "write") return `{:fence ${fence}, :from ${stringOf(from)}, :to ${stringOf(to)}}`;
  return fence;
}

interface Event {
  readonly at: number;
  readonly isReturn: boolean;
  readonly text: string;
}

function historyOf(model: string, key: string, calls: readonly Call[]): string {
  const events = inProcesses(calls).flatMap(([call, process]) => eventsOf(call, process));
  const lines = events
    .sort((a, b) => a.at - b.at || Number(a.isReturn) - Number(b.isReturn))
    .map(({ text }, index) => `  {:index ${index}, ${text}}\n`);
  return `{:model :${model}, :key ${stringOf(key)}, :history [\n${lines.join("")}]}\n`;
}

function eventsOf(call: Call, process: number): Event[] {
  const event = (type: string, at: number): Event => ({
    at,
    isReturn: type !== "invoke",
    text:
      `:process ${process}, :type :${type}, :f :${call.f}, :value ${argumentOf(call)}, ` +
      `:client ${stringOf(call.client)}` +
      (Number.isFinite(at) ? `, :time ${at}` : ""),
  });
  const end = call.type === "info" ? Number.POSITIVE_INFINITY : endOf(call);
  return [event("invoke", call.call), event(call.type, end)];
}

/**
 * Numbers processes, each of which has one call at a time, as Knossos requires. Calls of a client can overlap: the
 * client learns of its lock's record while it acquires the lock. A process ends with an `:info`.
 */
function inProcesses(calls: readonly Call[]): [Call, number][] {
  const freeAt: number[] = [];
  return [...calls]
    .sort((a, b) => a.call - b.call)
    .map((call) => {
      const free = freeAt.findIndex((at) => at < call.call);
      const process = free === -1 ? freeAt.length : free;
      freeAt[process] = call.type === "info" ? Number.POSITIVE_INFINITY : endOf(call);
      return [call, process];
    });
}
