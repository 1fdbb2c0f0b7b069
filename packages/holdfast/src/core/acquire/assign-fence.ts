import { HoldfastError } from "../../errors.js";
import type { NoAnswer } from "../../platform/retry.js";
import { isJudged } from "../../platform/table.js";
import type { Deadline } from "../hold/deadline.js";
import type { FenceCounter } from "../record/format.js";
import { KEEP } from "../table-access.js";
import { type Silent, withinGrant } from "./grant-retry.js";
import type { RecordAcquisition } from "./settings.js";

/** An acknowledged grant that has no fence yet. */
interface UnfencedGrant {
  readonly holder: string;
  /** The first fence if the name never had one. */
  readonly seed: bigint;
  readonly leaseMs: number;
  readonly deadline: Deadline;
  readonly pauseMs: number;
}

/** The result of {@link assignFence}. */
type FenceAnswer =
  | { readonly kind: "assigned"; readonly number: bigint }
  /** The record has a different holder, or no holder. */
  | { readonly kind: "refused" }
  | Silent;

const REFUSED = { kind: "refused" } as const;

interface Counted {
  readonly kind: "counted";
  readonly number: bigint;
}

/** The holder that the record names, or undefined if the record has no holder. */
interface ShownHolder {
  readonly kind: "shown";
  readonly holder: string | undefined;
}

/**
 * Assigns a fence to a grant: increments the counter, then reads the record, which must still name the grant. So no
 * later grant can have incremented the counter before. The client retries each of the two requests until DynamoDB
 * answers. A retried increment may skip a number.
 */
export async function assignFence(
  acquisition: RecordAcquisition,
  counter: FenceCounter,
  grant: UnfencedGrant,
): Promise<FenceAnswer> {
  let number: bigint | undefined;
  const attempt = async () => {
    if (number === undefined) {
      const counted = await count(acquisition, counter, grant);
      if (counted.kind !== "counted") return counted;
      number = counted.number;
    }
    const shown = await readHolder(acquisition, grant.deadline);
    if (shown.kind !== "shown") return shown;
    return shown.holder === grant.holder ? ({ kind: "assigned", number } as const) : REFUSED;
  };
  return withinGrant(acquisition, grant, attempt);
}

async function count(
  { context, ref, cancellation: { signal, waits } }: RecordAcquisition,
  counter: FenceCounter,
  { seed, deadline }: UnfencedGrant,
): Promise<Counted | NoAnswer> {
  const timeoutMs = context.timeoutWithin(deadline.remainingMs());
  const written = await context.write(counter.count(ref, seed), timeoutMs, signal);
  const answer = context.unlessLasting(written, waits);
  if (!isJudged(answer)) return answer;
  const number = counter.numberIn(answer.item);
  if (answer.kind === "applied" && number !== undefined) return { kind: "counted", number };
  const what =
    answer.kind === "applied"
      ? "a number that is not whole. This claim has raised the number by one"
      : "no number that can be raised by one. Nothing was written";
  throw new HoldfastError(
    "foreign-record",
    `The item that stores the fences of lock "${ref.name}" has ${what}. Find out which program wrote this ` +
      "item, and move the item to another key.",
    { lockName: ref.name },
  );
}

async function readHolder(
  { context, ref, cancellation: { signal, waits } }: RecordAcquisition,
  deadline: Deadline,
): Promise<ShownHolder | NoAnswer> {
  const read = { key: ref.key, consistent: true, attributes: context.format.codec.pollAttributes };
  const timeoutMs = context.timeoutWithin(deadline.remainingMs());
  const answer = context.unlessLasting(await context.read(read, timeoutMs, signal, KEEP), waits);
  if (answer.kind !== "found") return answer;
  const record = context.seeRecord(ref, answer, "strong");
  return { kind: "shown", holder: record.state === "held" ? record.holder : undefined };
}
