import type { Item } from "../../../packages/holdfast/src/platform/table.js";
import type { ObjectChange } from "../../../packages/testing/src/objects/memory-objects.js";
import type { TableChange } from "../../../packages/testing/src/table/memory-table.js";

/** A violation of the object-commit protocol. */
export interface CommitViolation {
  readonly invariant:
    | "no lost update"
    | "no double create"
    | "one taker"
    | "generations"
    | "answers";
  readonly atMs: number;
  readonly what: string;
}

/** A counter with the number of each writer's increments, so a writer recognises its own. */
export interface Counter {
  readonly count: number;
  readonly by: Readonly<Record<string, number>>;
}

/** Reads a counter; an absent object counts as empty. */
export function counterOf(body: Uint8Array | undefined): Counter {
  if (body === undefined) return { count: 0, by: {} };
  return JSON.parse(Buffer.from(body).toString()) as Counter;
}

/** Checks that each version of a counter builds on the previous version: no commit is overwritten. */
export function lostUpdate({ key, before, after }: ObjectChange): string | undefined {
  if (after === undefined) return undefined;
  const was = counterOf(before?.body).count;
  const is = counterOf(after.body).count;
  return is === was + 1 ? undefined : `"${key}" went from ${was} to ${is}`;
}

/** Checks that created objects stay as created. */
export function doubleCreate({ key, before, after }: ObjectChange): string | undefined {
  if (before === undefined || after === undefined) return undefined;
  return `"${key}" was created a second time`;
}

/** Checks the writers that were told that they deleted or renamed an object: it can be gone only once. */
export function takenTwice(key: string, takers: readonly string[]): string | undefined {
  return takers.length < 2 ? undefined : `"${key}" was taken by ${takers.join(" and ")}`;
}

interface RecordIn {
  readonly generation: bigint;
  readonly timeoutMs: bigint;
}

/** Checks each generation: 0 at first, one higher at each takeover, and otherwise only an end. */
export function wrongGeneration({ before, after }: TableChange): string | undefined {
  const [was, is] = [recordIn(before), recordIn(after)];
  if (is === undefined) return was === undefined ? undefined : "a record was deleted";
  if (was === undefined) {
    return is.generation === 0n ? undefined : `a record began at ${is.generation}`;
  }
  if (is.generation === was.generation + 1n) return undefined;
  if (is.generation === was.generation && is.timeoutMs === 0n) return undefined;
  return `a record went from generation ${was.generation} to ${is.generation}`;
}

function recordIn(item: Item | undefined): RecordIn | undefined {
  const [generation, timeout] = [item?.["generation"], item?.["timeout"]];
  if (generation === undefined || !("N" in generation)) return undefined;
  if (timeout === undefined || !("N" in timeout)) return undefined;
  return { generation: BigInt(generation.N), timeoutMs: BigInt(timeout.N) };
}
