import type { Ledger } from "../chaos/checks.js";
import type { Span } from "../chaos/order.js";
import type { Timed } from "../sim/history.js";

/**
 * An operation of a client, or a state that the table showed, for checkers of other authors: a JSON object per line.
 * The times are ordinal numbers, not milliseconds. An operation without `return` has an unknown end.
 */
export interface Operation {
  /**
   * - `acquire`: a lease with `fence` was handed out; `none`: no lease.
   * - `held`: a check by the client showed that the lease is held.
   * - `release`, `lost`: the client's belief in the lease ended in between.
   * - `record`: an answer of the table showed the lock's record with this fence.
   * - `write`: replaced the value `from` of a register by `to`, on condition of `fence`; without `fence`, on no
   *   condition; without `from`, any value.
   * - `read`: the register had the value `to`.
   */
  readonly op: "acquire" | "held" | "release" | "lost" | "record" | "write" | "read";
  readonly name: string;
  readonly client: string;
  readonly call: number;
  readonly return?: number;
  readonly outcome: "ok" | "none" | "refused" | "unknown";
  readonly fence?: string;
  readonly register?: string;
  readonly from?: string;
  readonly to?: string;
}

/** A write on condition of a lease, whose outcome the table may never have told. */
export interface Attempt {
  readonly name: string;
  readonly fence: bigint;
  readonly by: string;
  readonly from: number;
}

/** The evidence of a run. */
export interface Evidence {
  readonly spans: readonly Span[];
  /** All sent guarded writes, by entry. */
  readonly attempts?: ReadonlyMap<string, Attempt>;
  /** The lists at the end; undefined if nothing read them. */
  readonly ledgers?: readonly Ledger[] | undefined;
}

// Operations begin at even numbers and end at odd numbers. So an instant has a length, and overlaps no other instant.
const callAt = (stamp: number): number => 2 * stamp;
const returnAt = (stamp: number): number => 2 * stamp + 1;

/** Converts the events of a simulation, each of which happened at an instant, to spans. */
export function spansOf(history: readonly Timed[]): Span[] {
  return history.map(({ atMs, ...event }, at) => ({ from: at, to: at, atMs, event }) as Span);
}

/** Returns a run's operations, in the order of their calls. */
export function operationsOf(evidence: Evidence): Operation[] {
  return [...lockOperations(evidence.spans), ...writesOf(evidence)].sort((a, b) => a.call - b.call);
}

/** Formats operations as JSON lines. */
export function jsonLinesOf(operations: readonly Operation[]): string {
  return operations.map((operation) => `${JSON.stringify(operation)}\n`).join("");
}

// A refusal that leaves nothing behind. After the other codes a claim may still be applied.
const NOT_GRANTED = new Set(["contended", "not-acquired"]);

/** The calls of `acquire` that have not returned, and the last time at which each lease was known to be held. */
class OpenCalls {
  readonly #waits = new Map<string, { readonly by: string; readonly name: string; at: number }[]>();
  readonly #heldAt = new Map<string, number>();

  waits(by: string, name: string, at: number): void {
    const key = `${by} ${name}`;
    this.#waits.set(key, [...(this.#waits.get(key) ?? []), { by, name, at }]);
  }

  /** Returns the earliest call of this client for this lock; a try has no call in a simulation's history. */
  takeCall(by: string, name: string): number | undefined {
    return this.#waits.get(`${by} ${name}`)?.shift()?.at;
  }

  held(name: string, fence: bigint, at: number): void {
    this.#heldAt.set(`${name} ${fence}`, at);
  }

  heldAt(name: string, fence: bigint): number | undefined {
    return this.#heldAt.get(`${name} ${fence}`);
  }

  get unfinished() {
    return [...this.#waits.values()].flat();
  }
}

function lockOperations(spans: readonly Span[]): Operation[] {
  const open = new OpenCalls();
  // A message can arrive after later events of the same client; the stamps tell.
  const inOrderOfEnds = [...spans].sort((a, b) => a.to - b.to);
  const operations = inOrderOfEnds.flatMap((span) => lockOperation(span, open) ?? []);
  const unfinished = open.unfinished.map(
    ({ by, name, at }): Operation => ({
      op: "acquire",
      name,
      client: by,
      call: callAt(at),
      outcome: "unknown",
    }),
  );
  return [...operations, ...unfinished];
}

function lockOperation({ from, to, event }: Span, open: OpenCalls): Operation | undefined {
  if (!("name" in event)) return undefined;
  const { name, by: client } = event;
  const common = { name, client, call: callAt(from), return: returnAt(to), outcome: "ok" } as const;
  switch (event.kind) {
    case "waits":
      open.waits(client, name, to);
      return undefined;
    case "granted": {
      const at = event.waited === false ? from : (open.takeCall(client, name) ?? from);
      open.held(name, event.fence, to);
      return {
        ...common,
        op: "acquire",
        call: callAt(Math.min(at, from)),
        fence: `${event.fence}`,
      };
    }
    case "gave up": {
      const at = event.waited === false ? from : (open.takeCall(client, name) ?? from);
      const { return: end, ...rest } = { ...common, op: "acquire" as const, call: callAt(at) };
      return NOT_GRANTED.has(event.code)
        ? { ...rest, return: end, outcome: "none" }
        : { ...rest, outcome: "unknown" };
    }
    case "acted":
      open.held(name, event.fence, to);
      return { ...common, op: "held", fence: `${event.fence}` };
    case "released":
    case "lost": {
      const at = open.heldAt(name, event.fence);
      // A lease that no event shows as handed out has no belief to end.
      if (at === undefined) return undefined;
      const op = event.kind === "lost" ? "lost" : "release";
      return {
        ...common,
        op,
        call: Math.min(callAt(at + 1), callAt(from)),
        fence: `${event.fence}`,
      };
    }
    case "record":
      return { ...common, op: "record", fence: `${event.fence}` };
    default:
      return undefined;
  }
}

/** Writes on condition of a lease. The order of a ledger shows the value that each write replaced. */
function writesOf({ spans, attempts = new Map(), ledgers }: Evidence): Operation[] {
  const replaced = new Map<string, string>();
  const registers = new Map<string, string>();
  const reads: Operation[] = [];
  const endAt = Math.max(0, ...spans.map(({ to }) => to)) + 1;
  for (const { key, name, entries } of ledgers ?? []) {
    const texts = entries.map(({ text }) => text);
    for (const [at, text] of texts.entries()) {
      replaced.set(text, texts[at - 1] ?? "");
      registers.set(text, key);
    }
    const at = { call: callAt(endAt), return: returnAt(endAt), outcome: "ok" } as const;
    reads.push({ op: "read", name, client: "end", ...at, register: key, to: texts.at(-1) ?? "" });
  }
  const writes = writesByEntry(spans);
  const operations = [...writes].map(([entry, write]) => placed(write, entry, replaced, registers));
  for (const [entry, { name, fence, by, from }] of attempts) {
    if (writes.has(entry)) continue;
    const write = { name, client: by, call: callAt(from), fence: `${fence}` };
    operations.push(
      placed({ op: "write", outcome: "unknown", ...write }, entry, replaced, registers),
    );
  }
  return [...operations, ...reads];
}

function placed(
  write: Operation,
  entry: string,
  replaced: ReadonlyMap<string, string>,
  registers: ReadonlyMap<string, string>,
): Operation {
  const register = registers.get(entry);
  const from = replaced.get(entry);
  if (register === undefined || from === undefined) return write;
  return { ...write, register, from, to: entry };
}

/**
 * An operation for each write. DynamoDB answers a repeated transaction with success, although the first was applied.
 */
function writesByEntry(spans: readonly Span[]): Map<string, Operation> {
  const writes = new Map<string, Operation>();
  for (const [at, { from, to, event }] of spans.entries()) {
    if (event.kind !== "guarded") continue;
    const { name, by: client, fence, isApplied } = event;
    const key = event.entry ?? `${at}`;
    const before = writes.get(key);
    const end = returnAt(to);
    const call = Math.min(callAt(from), before?.call ?? Number.POSITIVE_INFINITY);
    const outcome = isApplied || before?.outcome === "ok" ? "ok" : "refused";
    const isSame = before?.outcome === outcome;
    writes.set(key, {
      op: "write",
      name,
      client,
      call,
      return: isSame ? Math.min(end, before.return ?? end) : end,
      outcome,
      fence: `${fence}`,
    });
  }
  return writes;
}
