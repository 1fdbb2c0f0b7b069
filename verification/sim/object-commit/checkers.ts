import type { Item } from "../../../src/platform/table.js";
import type { ObjectChange } from "../../../src/testing/objects/memory-objects.js";
import type { TableChange } from "../../../src/testing/table/memory-table.js";

/** Something that must never happen. */
export interface CommitViolation {
  readonly invariant: "no lost update" | "no double create" | "generations" | "answers";
  readonly atMs: number;
  readonly what: string;
}

/** A counter that says who added to it, so that a writer can tell whether its own is in it. */
export interface Counter {
  readonly count: number;
  readonly by: Readonly<Record<string, number>>;
}

/** Reads a counter; an object that is not there counts nothing. */
export function counterOf(body: Uint8Array | undefined): Counter {
  if (body === undefined) return { count: 0, by: {} };
  return JSON.parse(Buffer.from(body).toString()) as Counter;
}

/** Each version of a counter is made of the one before it: nothing that was committed is overwritten. */
export function lostUpdate({ key, before, after }: ObjectChange): string | undefined {
  if (after === undefined) return undefined;
  const was = counterOf(before?.body).count;
  const is = counterOf(after.body).count;
  return is === was + 1 ? undefined : `"${key}" went from ${was} to ${is}`;
}

/** An object that is created once stays as its creator made it. */
export function doubleCreate({ key, before, after }: ObjectChange): string | undefined {
  if (before === undefined || after === undefined) return undefined;
  return `"${key}" was created a second time`;
}

interface RecordIn {
  readonly generation: bigint;
  readonly timeoutMs: bigint;
}

/** A record begins at 0, rises by one at each takeover, and otherwise only ends. */
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
