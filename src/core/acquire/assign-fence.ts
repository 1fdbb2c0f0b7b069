import { HoldfastError } from "../../errors.js";
import type { Deadline } from "../hold/deadline.js";
import type { FenceCounter, RecordRef } from "../record/format.js";
import type { Cancelling } from "./cancellation.js";
import type { AcquireContext } from "./context.js";

/** A grant that was answered and has no number yet. */
export interface UnfencedGrant {
  readonly holder: string;
  /** Where the numbers start if there were none. */
  readonly seed: bigint;
  readonly leaseMs: number;
  readonly deadline: Deadline;
  readonly pauseMs: number;
}

/**
 * Numbers a grant: counts up, and then sees that the record still names it, so that no later grant can have
 * counted before. Each step is repeated until it is answered; a number that was counted twice is one that
 * nobody has. `silent` where nobody answers in useful time, `refused` where the record names somebody else.
 * Two requests.
 */
export async function assignFence(
  context: AcquireContext,
  ref: RecordRef,
  counter: FenceCounter,
  grant: UnfencedGrant,
  cancellation: Cancelling,
): Promise<bigint | "refused" | "silent"> {
  let number: bigint | undefined;
  while (grant.deadline.remainingMs() > grant.leaseMs / 2) {
    number ??= await count(context, ref, counter, grant, cancellation);
    const holder =
      number === undefined
        ? undefined
        : await holderNow(context, ref, grant.deadline, cancellation);
    if (cancellation.isStopped) throw cancellation.error();
    if (holder === grant.holder) return number as bigint;
    if (holder !== undefined) return "refused";
    await context.sleep(context.jittered(grant.pauseMs), cancellation.signal);
  }
  return "silent";
}

async function count(
  context: AcquireContext,
  ref: RecordRef,
  counter: FenceCounter,
  { seed, deadline }: UnfencedGrant,
  cancellation: Cancelling,
): Promise<bigint | undefined> {
  const timeoutMs = context.timeoutWithin(deadline.remainingMs());
  const answer = await context.write(counter.count(ref, seed), timeoutMs, cancellation.signal);
  if (answer.kind === "misconfigured") throw answer.error;
  if (answer.kind !== "applied" && answer.kind !== "refused") {
    cancellation.onNoResponse(answer);
    return undefined;
  }
  const number = counter.numberIn(answer.item);
  if (answer.kind === "applied" && number !== undefined) return number;
  const what =
    answer.kind === "applied"
      ? "a number that is not whole, which was raised by one"
      : "no number that can be counted up. Nothing was written";
  throw new HoldfastError(
    "foreign-record",
    `The item that keeps the fences of lock "${ref.name}" has ${what}. Find out who wrote it, and move it.`,
    { lockName: ref.name },
  );
}

/** Whom the record names; undefined where nobody answers, and the empty text for nobody. */
async function holderNow(
  context: AcquireContext,
  ref: RecordRef,
  deadline: Deadline,
  cancellation: Cancelling,
): Promise<string | undefined> {
  const read = { key: ref.key, consistent: true, attributes: context.format.pollAttributes };
  const answer = await context.read(
    read,
    context.timeoutWithin(deadline.remainingMs()),
    cancellation.signal,
  );
  if (answer.kind === "misconfigured") throw answer.error;
  if (answer.kind !== "found") {
    cancellation.onNoResponse(answer);
    return undefined;
  }
  const record = context.seeRecord(ref, answer.item, "strong");
  return record.state === "held" ? record.holder : "";
}
