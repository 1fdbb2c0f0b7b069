import { HoldfastError } from "../../errors.js";
import { type Duration, durationMs } from "../../internal/duration.js";
import { instantOf } from "../../platform/clock.js";
import { mayBeApplied } from "../../platform/table.js";
import type { LeaseFormat } from "../record/format.js";
import { actingMs, Deadline } from "./deadline.js";
import type { Hold } from "./hold.js";
import { lossError, lossIn } from "./loss.js";
import { rollBack } from "./rollback.js";

/**
 * A lock on its way from one process to another. Nobody holds it meanwhile: the export makes a grant to a
 * holder that no process is, so that its former holder's writes and conditions fail from then on; and
 * the import is the one write that passes on from exactly that holder, so that one import succeeds. What is
 * never imported runs out, as the lock of a process that died does.
 */
export interface LeaseTransfer {
  /** The layout of the handle. */
  readonly v: 1;
  readonly name: string;
  /** Of a fair lock that has one. */
  readonly namespace?: string;
  /** The id of the grant that nobody has: who knows it can import the lock. */
  readonly holder: string;
  /** That grant's fence, in digits, for JSON. The importer's is above it. */
  readonly fence: string;
  /** For how long after the export, in milliseconds, nobody else takes the lock; by no clock in particular. */
  readonly leaseMs: number;
  /** The label for people of who exported it. */
  readonly owner: string;
}

/** Options of `lease.export()`. */
export interface ExportOptions {
  /** For how long the lock stays reserved for its importer. Default: the length of the lease. */
  readonly lease?: Duration | undefined;
}

/** The shortest reservation, in milliseconds: that of any lease. */
export const SHORTEST_LEASE_MS = 100;
const LEASE_RANGE = { leastMs: SHORTEST_LEASE_MS, mostMs: 365 * 24 * 3_600_000 };

/** Ends a hold in this process, and makes of it what another can import; see `Lease.export`. */
export async function exportLease(hold: Hold, options: ExportOptions): Promise<LeaseTransfer> {
  const { context, ref, settings } = hold;
  checkExportable(hold);
  const { lease } = options;
  const leaseMs = lease === undefined ? hold.leaseMs : durationMs("lease", lease, LEASE_RANGE);
  // Ended before anything is sent, as at a hand-over: whatever becomes of the write, it is never revived.
  hold.end("exported");
  return context.tracked(
    hold.requests.run(async () => {
      const { owner } = settings;
      const record = await passedOn(hold, leaseMs);
      const { holder, fence } = record;
      const { name, namespace } = ref;
      const where = namespace === undefined ? { name } : { name, namespace };
      return { v: 1, ...where, holder, fence: String(fence), leaseMs, owner } as const;
    }),
  );
}

function checkExportable(hold: Hold): void {
  const { ref, living, sharers, settings } = hold;
  assertHandsOn(hold.context.format);
  const why =
    ref.kind !== "lock"
      ? "it is no lock"
      : living.life !== undefined || settings.keptAliveBy !== undefined
        ? "it lives by a session of this process; acquire it without one"
        : sharers > 1
          ? "others of this process share it"
          : undefined;
  if (why === undefined) return;
  throw new HoldfastError("invalid-argument", `Lock "${ref.name}" cannot be exported: ${why}.`, {
    lockName: ref.name,
  });
}

/** Throws `invalid-argument` for a format whose locks cannot be handed on. */
export function assertHandsOn(format: LeaseFormat): void {
  if (format.handsOn === true) return;
  throw new HoldfastError(
    "invalid-argument",
    `Locks of format "${format.name}" cannot be handed to another process: its other clients would not ` +
      "know what to make of a grant that nobody has.",
  );
}

/** One write, sent until it is answered, or until its reservation would be half over. */
async function passedOn(hold: Hold, leaseMs: number) {
  const { context, ref, held, settings } = hold;
  const grant = context.grant(ref, {
    ...{ leaseMs, owner: settings.owner, data: undefined, attributes: undefined },
    ...{ existingData: "keep", existingAttributes: "keep" },
  });
  const write = context.format.handOver(ref, grant, { known: held });
  const deadline = new Deadline(
    context.clock,
    instantOf(context.clock),
    actingMs(context, leaseMs),
  );
  let sends = 0;
  let cause: unknown;
  while (deadline.remainingMs() > leaseMs / 2) {
    // Short enough for a second try within the first half.
    const answer = await context.write(write, context.timeoutWithin(deadline.remainingMs()) / 2);
    if (answer.kind === "applied" || answer.kind === "refused") {
      // A copy of the claim that made it can land yet, where the lock has become free.
      context.abandon(held.holder);
      const found = context.seeRecord(ref, answer.item, "strong");
      // Refused, it proves itself only where an earlier send of it may have been applied.
      const mayBeOwn = mayBeApplied(answer) || sends > 0;
      if (mayBeOwn && found.state === "held" && found.holder === grant.holder) return found;
      throw lossError(ref, lossIn(found, held) ?? "stolen", undefined);
    }
    cause = answer.kind === "misconfigured" ? answer.error : answer.cause;
    if (answer.kind === "misconfigured") break;
    sends += 1;
    await context.sleep(context.jittered(settings.minPollMs));
  }
  const { holder: attempt } = grant;
  const { minPollMs } = settings;
  // Nobody has either of the two: freed, the lock need not run out.
  rollBack(context, ref, { attempt, leaseMs, replaced: { known: held }, sends, minPollMs });
  throw new HoldfastError(
    "outcome-unknown",
    `Nobody answered whether lock "${ref.name}" was exported. It is not held any more, and is free, or will be ` +
      "when its lease has run out.",
    { lockName: ref.name, cause },
  );
}
