import type { HoldfastError } from "holdfast";
import type { TablePort } from "holdfast/internal";
import type { CommitContext, Limit, Patience } from "./context.js";
import { isMet } from "./decide.js";
import { leaseRanOut, onNoResponse, unmet } from "./errors.js";
import { CommitLock, type Held } from "./lock.js";
import { expectMet, readHead } from "./read.js";
import { type ObjectWrite, type Settled, Settling } from "./settle.js";

/** Commits by the store's own conditions, with a single request if the store answers. Returns the ETag. */
export async function commitConditionally(
  context: CommitContext,
  write: ObjectWrite,
  patience: Patience,
): Promise<string> {
  const how = { withConditions: true, mayRepeatUnsure: true, isUnderRecord: false };
  const settled = await new Settling(context, write, how, patience).run();
  return etagOf(write, settled, patience, () =>
    onNoResponse(write.target, "object store", { kind: "throttled", cause: undefined }),
  );
}

/**
 * Commits under the target's record. Sends a HEAD, the claim of the record, a HEAD, the write, and the record's end.
 *
 * `withConditions`: the write also has the store's conditions. Returns the ETag.
 */
export async function commitUnderRecord(
  context: CommitContext,
  table: TablePort,
  write: ObjectWrite,
  withConditions: boolean,
  patience: Patience,
): Promise<string> {
  await expectMet(context, write.target, patience);
  const lock = new CommitLock(context, table, write.target, write.commitId);
  for (;;) {
    const held = await lock.take(patience);
    const settled = await writeWhileHeld(context, write, withConditions, held);
    // Nothing was applied, and the record's time is over: if time remains for the operation, take the record again.
    if (isWorthAnother(write, settled) && patience.remainingMs() > 0) continue;
    // While the store may still apply a send, the record must block other writers.
    if (settled.isQuiet) await lock.end(held.record);
    return etagOf(write, settled, patience, () =>
      leaseRanOut(write.target, context.settings.timeoutMs),
    );
  }
}

function isWorthAnother({ canRepeat }: ObjectWrite, { outcome, wasSent }: Settled): boolean {
  return outcome.kind === "spent" && (canRepeat || !wasSent);
}

async function writeWhileHeld(
  context: CommitContext,
  write: ObjectWrite,
  withConditions: boolean,
  held: Held,
): Promise<Settled> {
  const before = await readAgain(context, write, held);
  if (before !== undefined) return { outcome: before, isQuiet: true, wasSent: false };
  // False even with conditions: a store that needs a record may ignore conditions.
  const how = { withConditions, mayRepeatUnsure: false, isUnderRecord: true };
  return new Settling(context, write, how, held).run();
}

/**
 * Reads the object again under the record. Undefined: the object is as required.
 *
 * Since the first read, another writer may have written and ended its record, or TTL may have deleted that record.
 */
async function readAgain(
  context: CommitContext,
  write: ObjectWrite,
  held: Held,
): Promise<Settled["outcome"] | undefined> {
  // Ended by the record before its own timeout, a read does not show whether the store answers.
  const isShort = held.remainingMs() < context.settings.requestTimeoutMs;
  try {
    const read = await readHead(context, write.target.key, held);
    if (read.kind === "trouble") {
      const isShown = !isShort || read.trouble.kind !== "unknown";
      return { kind: "spent", trouble: isShown ? read.trouble : undefined };
    }
    if (isMet(write.target, read.head)) return undefined;
    return { kind: "failed", error: unmet(write.target, read.head) };
  } catch (error) {
    // A read throws on a wrong configuration of the table or the store: nothing was written.
    return { kind: "failed", error: error as HoldfastError };
  }
}

/** The ETag, or the error of the outcome; `ranOut`: that of a limit that was over before any request. */
function etagOf(
  { target, inDoubt }: ObjectWrite,
  { outcome }: Settled,
  limit: Limit,
  ranOut: () => HoldfastError,
): string {
  switch (outcome.kind) {
    case "committed":
      return outcome.etag;
    case "failed":
      throw outcome.error;
    case "unknown":
      throw inDoubt(outcome.cause);
    case "spent":
      limit.signal?.throwIfAborted();
      if (outcome.trouble === undefined) throw ranOut();
      throw onNoResponse(target, "object store", outcome.trouble);
  }
}
