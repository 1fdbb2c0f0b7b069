import type { Instant } from "../../platform/clock.js";
import { isJudged } from "../../platform/table.js";
import type { Deadline } from "../hold/deadline.js";
import type { GrantResult } from "../hold/hold.js";
import type { Held, Renewal } from "../record/format.js";
import type { HeldRecord } from "../record/record.js";
import type { AcquireContext } from "./context.js";
import { type Silent, withinGrant } from "./grant-retry.js";
import type { RecordAcquisition } from "./settings.js";

/** An acknowledged grant, with its deadline by this machine's clocks. */
interface CheckedGrant extends GrantResult {
  readonly deadline: Deadline;
}

type Corrected = { readonly kind: "granted"; readonly result: GrantResult };
type Refused = { readonly kind: "refused" };

// If an end could be ahead without a limit, a dead holder's lock would stay held for all this time.
const MOST_AHEAD_MS = 10_000;
const REFUSED = { kind: "refused" } as const;

/**
 * Checks the end that a grant has written against the `Date` of its answer, and writes a correct end if necessary. The
 * end of the first grant of a process comes from the wall clock, which may be wrong. With an end in the past, another
 * client would take over at once. With an end hours ahead, no client could take over from a dead holder without a
 * watch.
 *
 * The correction is a renewal on the exact version, because only such a write may set an earlier end. If no
 * answer comes within half of the lease, the caller gets no lease. Sends no request if the end is correct. `now`: an
 * instant that this synchronous step has read.
 */
export async function correctEnd(
  acquisition: RecordAcquisition,
  { deadline, ...result }: CheckedGrant,
  now?: Instant,
): Promise<Corrected | Refused | Silent> {
  const { context } = acquisition;
  const { leaseMs, retryMs: pauseMs } = result.settings;
  // The length in a record of another client's format may be longer than the lease.
  if (hasSoundEnd(context, { ...result.record, leaseMs }, deadline, now))
    return { kind: "granted", result };
  const held = { holder: result.record.holder, fence: result.record.fence };
  let renewal: Renewal | undefined;
  let version = result.record.version;
  const attempt = async () => {
    renewal ??= context.renewal(version, leaseMs);
    const answer = await send(acquisition, held, renewal, deadline);
    if (answer.kind !== "shown") return answer;
    const { record } = answer;
    if (record === undefined) return REFUSED;
    if (answer.isApplied || record.mark === renewal.mark) {
      if (hasSoundEnd(context, { ...record, leaseMs }, deadline))
        return { kind: "corrected", record } as const;
    }
    // The answer has brought a better `Date`, or another write has changed the version.
    version = record.version;
    renewal = undefined;
    return { kind: "again" } as const;
  };
  const grant = { leaseMs, pauseMs, deadline };
  const corrected = await withinGrant(acquisition, grant, attempt);
  if (corrected.kind !== "corrected") return corrected;
  return { kind: "granted", result: { ...result, record: corrected.record } };
}

/**
 * Whether the end in a granted record is correct, by the `Date` of the answers. `deadline` is by this machine's clocks.
 * True for a record without an end.
 */
export function hasSoundEnd(
  context: AcquireContext,
  { endMs, leaseMs }: HeldRecord,
  deadline: Deadline,
  now?: Instant,
): boolean {
  const { maxClockErrorMs } = context.settings;
  const lease = { leaseMs, leftMs: deadline.remainingMs(now) };
  return context.tableClock.isSound(endMs, lease, Math.min(maxClockErrorMs, MOST_AHEAD_MS), now);
}

/** Sends one write. Answers with the record if it still has this grant. */
async function send(
  { context, ref, cancellation }: RecordAcquisition,
  held: Held,
  renewal: Renewal,
  deadline: Deadline,
) {
  const timeoutMs = context.timeoutWithin(deadline.remainingMs());
  const write = context.format.lease.changeLength(ref, held, renewal);
  const sent = await context.write(write, timeoutMs, cancellation.signal);
  const answer = context.unlessLasting(sent, cancellation.waits);
  if (!isJudged(answer)) return answer;
  // A failure of the next write begins another outage.
  cancellation.onResponse();
  const found = context.seeRecord(ref, answer, "strong");
  const isOwn = found.state === "held" && found.holder === held.holder;
  return {
    kind: "shown",
    isApplied: answer.kind === "applied",
    record: isOwn ? found : undefined,
  } as const;
}
