import { withAcquisition } from "../core/acquire/acquire.js";
import type { AcquireContext } from "../core/acquire/context.js";
import { type Granting, grantedTo, grantOnce } from "../core/acquire/grant.js";
import { SecondDate } from "../core/acquire/second-date.js";
import type { AcquireSettings, Granted } from "../core/acquire/settings.js";
import type { Running } from "../core/hold/close.js";
import { HeldLease } from "../core/hold/lease.js";
import { freeOnce } from "../core/hold/release.js";
import type { RecordRef } from "../core/record/format.js";
import type { FreeRecord, LeaseRecord } from "../core/record/record.js";
import { stringIn } from "../native/native-values.js";
import type { NoAnswer } from "../platform/retry.js";
import type { Seen } from "./decide.js";
import { dataOf, type Memory, memoryIn } from "./memory.js";

/** What an answer showed of the record. */
export interface Sight {
  readonly seen: Seen;
  /** How to begin a run: on condition of exactly this state, whose memory the run continues. */
  readonly onto: Granting | undefined;
  /** With a live holder: in how many milliseconds its lease could be over. */
  readonly overInMs?: number | undefined;
}

/** Whose record, and with which settings. */
export interface Place {
  readonly context: AcquireContext;
  readonly ref: RecordRef;
  readonly settings: AcquireSettings;
  readonly running: Set<Running>;
  /** The attempt that this process claimed last, if it gave the claim up for want of an answer. */
  givenUp?: Pick<Memory, "dueMs" | "attempt" | "by"> | undefined;
}

/**
 * Looks at the record: half a read unit, and one unit or two more if its holder seems dead. Resolves with the
 * reason if the table does not answer, and rejects with an error that an operator must correct.
 */
export async function look(place: Place, consistent: boolean): Promise<Sight | NoAnswer> {
  const { context, ref } = place;
  const first = await read(place, consistent);
  if (!("record" in first)) return first;
  let last = first;
  // A stale read may show another grant than this client last saw, and the memory must be that of the grant that is taken over.
  const { kind } = decisionOf(place);
  const isHeld = first.record.state === "held";
  const isDoubtful = isHeld && (kind === "take-over" || (kind === "wait" && first.seemsOver));
  const secondDate = new SecondDate(context, ref);
  for (
    let mustRead = isDoubtful && !consistent;
    mustRead;
    mustRead = secondDate.isMissing(decisionOf(place), false)
  ) {
    const certain = await read(place, true);
    if (!("record" in certain)) return certain;
    last = certain;
  }
  return sightOf(place, last.record, last.mark);
}

async function read({ context, ref }: Place, consistent: boolean) {
  const reading = { key: ref.key, consistent };
  const answer = context.unlessLasting(
    await context.read(reading, undefined, context.closing),
    true,
  );
  if (answer.kind !== "found") return answer;
  const record = context.seeRecord(ref, answer, consistent ? "strong" : "eventual");
  const mark = answer.item && stringIn(answer.item, "mark");
  return { record, mark, seemsOver: context.seemsOver(record, answer) };
}

function decisionOf({ context, ref }: Place) {
  return context.decide(ref, false);
}

function sightOf(place: Place, record: LeaseRecord, mark: string | undefined): Sight {
  if (record.state === "absent") {
    const onto = { kind: "claim", onto: { kind: "absent" } } as const;
    return { seen: { state: "free", memory: undefined }, onto };
  }
  const memory = memoryIn(record.data);
  if (record.state === "free") {
    const { fence, version } = record;
    const onto = { kind: "claim", onto: { kind: "free", fence, version } } as const;
    const state = wasUndone(record, mark) ? "free" : "interrupted";
    return { seen: { state, memory }, onto };
  }
  const decision = decisionOf(place);
  if (decision.kind === "take-over") {
    const state = wasNeverBegun(place, record.holder, memory) ? "free" : "interrupted";
    return { seen: { state, memory }, onto: decision };
  }
  const { context } = place;
  const { endMs } = record;
  const byWatchMs =
    decision.kind === "wait" ? decision.acquirableAtMs - context.nowMs() : record.leaseMs;
  const byTableMs =
    endMs === undefined
      ? Number.POSITIVE_INFINITY
      : endMs + context.settings.maxClockErrorMs - context.tableClock.earliestMs();
  const overInMs = Math.max(0, Math.min(byWatchMs, byTableMs));
  return { seen: { state: "running", memory }, onto: undefined, overInMs };
}

// A memory without an end is that of a claim that was undone before its run, if the last grant has freed itself, and had
// renewed nothing. Otherwise another process's takeover, undone, has freed the record of a dead run.
function wasUndone({ lastHolder }: FreeRecord, mark: string | undefined): boolean {
  return mark !== undefined && mark === lastHolder;
}

// This process's own claim, whose answer it did not get and whose release may be lost: no work began under it. Not any
// other abandoned holder: that may be of a run that lost its lease, or of a call of `once()`.
function wasNeverBegun({ context, givenUp }: Place, holder: string, memory: Memory | undefined) {
  const isSame =
    memory?.dueMs === givenUp?.dueMs &&
    memory?.attempt === givenUp?.attempt &&
    memory?.by === givenUp?.by;
  return givenUp !== undefined && isSame && context.abandoned.has(holder);
}

/**
 * Begins a run with one write, which is its claim and its mark in the record. Resolves with undefined if the record is not
 * as it was seen. Rejects if the table does not answer; the claim is then undone in the background.
 */
export function begin(
  place: Place,
  onto: Granting,
  memory: Memory,
): Promise<HeldLease | undefined> {
  const { context, ref, settings: given } = place;
  const settings = { ...given, data: dataOf(memory) };
  return withAcquisition<readonly [Granted] | undefined, HeldLease>({
    ...{ context, refs: [ref], settings },
    grant: async (cancellation) => {
      const acquisition = { context, ref, settings, cancellation };
      const answer = await grantOnce(acquisition, onto);
      if (answer.kind === "silent") throw cancellation.error();
      if (answer.kind === "refused") return undefined;
      const how = onto.kind === "take-over" ? "takeover" : "claim";
      return [grantedTo(acquisition, answer.result, how)];
    },
    begin: ([{ hold }]) => {
      place.givenUp = undefined;
      return HeldLease.toCaller(hold);
    },
  }).catch((error: unknown) => {
    place.givenUp = memory;
    throw error;
  });
}

/** What the record shows after an acknowledged end: no read is needed to decide on. */
export function sightAfter({ hold }: HeldLease, memory: Memory): Sight {
  const { fence } = hold.held;
  const onto = { kind: "claim", onto: { kind: "free", fence, version: 0n } } as const;
  return { seen: { state: "free", memory }, onto };
}

/**
 * Records the end of a run, and releases the record, with one write. After a loss of the lease, tries once to record that,
 * on condition that no one has taken over. Resolves with whether the record shows the end for sure; rejects as a release.
 */
export async function end(lease: HeldLease, memory: Memory): Promise<boolean> {
  const { hold } = lease;
  if (lease.isHeld) {
    lease.leave(dataOf(memory), true);
    await lease.release();
    return hold.loss === undefined;
  }
  const { context, ref, held } = hold;
  const options = { keepData: true, lastData: dataOf(memory) };
  await hold.requests.run(() => freeOnce(context, ref, { known: held }, options));
  return false;
}
