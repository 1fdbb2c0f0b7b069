import type { HoldfastError } from "../errors.js";
import type { TablePort } from "../platform/table.js";
import type { Around, Limit, Patience } from "./around.js";
import { isMet } from "./decide.js";
import { leaseRanOut, onNoResponse, outcomeUnknown, unmet } from "./errors.js";
import { CommitLock, type Held } from "./lock.js";
import { expectMet, look } from "./look.js";
import { type ObjectWrite, type Settled, Settling } from "./settle.js";

/** Commits by the store's own conditions: one request, where it is answered. Answers the ETag. */
export async function commitConditionally(
  around: Around,
  write: ObjectWrite,
  patience: Patience,
): Promise<string> {
  const how = { withConditions: true, mayRepeatUnsure: true };
  const settled = await new Settling(around, write, how, patience).run();
  return etagOf(write, settled, (cause) => notSent(write, patience, cause));
}

/**
 * Commits under the target's record: a HEAD, the record, a HEAD, the write, the record's end. With
 * conditions, the write carries those as well. Answers the ETag.
 */
export async function commitUnderRecord(
  around: Around,
  table: TablePort,
  write: ObjectWrite,
  withConditions: boolean,
  patience: Patience,
): Promise<string> {
  await expectMet(around, write.target, patience);
  const lock = new CommitLock(around, table, write.target, write.commitId);
  for (;;) {
    const held = await lock.take(patience);
    const settled = await writeWhileHeld(around, write, withConditions, held);
    // Nothing was carried out, and the time is over: with patience left, once more, in its own place.
    if (isWorthAnother(write, settled) && patience.remainingMs() > 0) continue;
    // While something may still land, the record has to keep the others out.
    if (settled.isQuiet) await lock.end(held.record);
    return etagOf(write, settled, (cause) => notWritten(around, write, patience, cause));
  }
}

function isWorthAnother({ canRepeat }: ObjectWrite, { outcome, wasSent }: Settled): boolean {
  return outcome.kind === "spent" && (canRepeat || !wasSent);
}

async function writeWhileHeld(
  around: Around,
  write: ObjectWrite,
  withConditions: boolean,
  held: Held,
): Promise<Settled> {
  const before = await lookOnceMore(around, write, held);
  if (before !== undefined) return { outcome: before, isQuiet: true, wasSent: false };
  // Even with conditions: under a record the store may be one that ignores them.
  return new Settling(around, write, { withConditions, mayRepeatUnsure: false }, held).run();
}

/**
 * Between the first look and the record anything may have happened: somebody may have written, and the
 * record of it may have been ended, or swept away. Undefined: the object is as it should be.
 */
async function lookOnceMore(
  around: Around,
  write: ObjectWrite,
  held: Held,
): Promise<Settled["outcome"] | undefined> {
  try {
    const looked = await look(around, write.target.key, held);
    if (looked.kind === "trouble") return { kind: "spent", cause: looked.trouble.cause };
    if (isMet(write.target, looked.head)) return undefined;
    return { kind: "failed", error: unmet(write.target, looked.head) };
  } catch (error) {
    // What a look throws is the table's or the store's configuration: nothing was written.
    return { kind: "failed", error: error as HoldfastError };
  }
}

function etagOf(
  write: ObjectWrite,
  { outcome }: Settled,
  spent: (cause: unknown) => HoldfastError,
): string {
  switch (outcome.kind) {
    case "committed":
      return outcome.etag;
    case "failed":
      throw outcome.error;
    case "unknown":
      throw outcomeUnknown(write.target, write.commitId, outcome.cause);
    case "spent":
      throw spent(outcome.cause);
  }
}

function notSent({ target }: ObjectWrite, limit: Limit, cause: unknown): HoldfastError {
  limit.signal?.throwIfAborted();
  return onNoResponse(target, "object store", { kind: "throttled", cause });
}

function notWritten(
  around: Around,
  { target }: ObjectWrite,
  limit: Limit,
  cause: unknown,
): HoldfastError {
  limit.signal?.throwIfAborted();
  return leaseRanOut(target, around.settings.timeoutMs, cause);
}
