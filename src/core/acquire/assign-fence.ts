import { HoldfastError } from "../../errors.js";
import type { Deadline } from "../hold/deadline.js";
import type { Counter, RecordRef } from "../record/format.js";
import type { Kernel } from "../context.js";
import type { Stopping } from "./cancellation.js";

/** A grant that was answered and has no number yet. */
export interface Unnumbered {
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
export async function numberGrant(
  kernel: Kernel,
  ref: RecordRef,
  counter: Counter,
  grant: Unnumbered,
  stop: Stopping,
): Promise<bigint | "refused" | "silent"> {
  let number: bigint | undefined;
  while (grant.deadline.remainingMs() > grant.leaseMs / 2) {
    number ??= await count(kernel, ref, counter, grant, stop);
    const holder =
      number === undefined ? undefined : await holderNow(kernel, ref, grant.deadline, stop);
    if (stop.isStopped) throw stop.error();
    if (holder === grant.holder) return number as bigint;
    if (holder !== undefined) return "refused";
    await kernel.sleep(kernel.jittered(grant.pauseMs), stop.signal);
  }
  return "silent";
}

async function count(
  kernel: Kernel,
  ref: RecordRef,
  counter: Counter,
  { seed, deadline }: Unnumbered,
  stop: Stopping,
): Promise<bigint | undefined> {
  const timeoutMs = kernel.timeoutWithin(deadline.remainingMs());
  const answer = await kernel.write(counter.count(ref, seed), timeoutMs, stop.signal);
  if (answer.kind === "misconfigured") throw answer.error;
  if (answer.kind !== "applied" && answer.kind !== "refused") {
    stop.troubled(answer);
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
  kernel: Kernel,
  ref: RecordRef,
  deadline: Deadline,
  stop: Stopping,
): Promise<string | undefined> {
  const read = { key: ref.key, consistent: true, attributes: kernel.format.pollAttributes };
  const answer = await kernel.read(read, kernel.timeoutWithin(deadline.remainingMs()), stop.signal);
  if (answer.kind === "misconfigured") throw answer.error;
  if (answer.kind !== "found") {
    stop.troubled(answer);
    return undefined;
  }
  const record = kernel.seeRecord(ref, answer.item, "strong");
  return record.state === "held" ? record.holder : "";
}
