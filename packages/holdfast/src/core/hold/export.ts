import { HoldfastError } from "../../errors.js";
import { type Duration, durationMs } from "../../internal/duration.js";
import { checkNames, type OptionNames } from "../../internal/option-names.js";
import { TRANSFERS } from "../../native/native-transfers.js";
import { instantOf } from "../../platform/clock.js";
import { causeOf, retry } from "../../platform/retry.js";
import { mayBeApplied } from "../../platform/table.js";
import { steady } from "../backoff.js";
import { OutageWatch } from "../outage-watch.js";
import { requireCapability } from "../record/capability.js";
import type { FormatTypes } from "../record/format-types.js";
import { actingMs, Deadline } from "./deadline.js";
import type { Hold } from "./hold.js";
import { handleOf, type Lease } from "./lease.js";
import { lossError, lossIn } from "./loss.js";
import { rollBack } from "./roll-back.js";

/**
 * A lock in transfer between two processes. No process holds the lock during the transfer: the export grants the lock
 * to a new holder id, so the writes and conditions of the former holder fail. The import is a single write on condition
 * of this holder id, so only one import succeeds. A transfer without an import expires like the lock of a dead process.
 */
export interface LeaseTransfer {
  /** The version of this layout. */
  readonly v: 1;
  readonly name: string;
  /** The namespace of a fair lock, if any. */
  readonly namespace?: string;
  /** The holder id of the transfer. Any process with this id can import the lock. */
  readonly holder: string;
  /** The fence of the transfer, in digits, for JSON. The importer's fence is higher. */
  readonly fence: string;
  /**
   * How long the lock stays reserved after the export, in milliseconds. Each waiter measures this time by its own
   * clocks, or by the table's time. Until then, a client can take the lock only with the holder id.
   */
  readonly leaseMs: number;
  /** The exporter's label for people. */
  readonly owner: string;
}

/** Options of {@link exportLease}. */
interface ExportOptions {
  readonly lease?: Duration | undefined;
}

const EXPORT_NAMES: OptionNames<ExportOptions> = { lease: true };

/** The shortest reservation, in milliseconds: the same as the shortest lease. */
export const SHORTEST_LEASE_MS = 100;
const LEASE_RANGE = { leastMs: SHORTEST_LEASE_MS, mostMs: 365 * 24 * 3_600_000 };

/**
 * Transfers a lock to one other process, which gets a lease from the returned handle: see {@link LeaseTransfer}. The lease
 * ends in this process first, as lost with reason `exported`. After the answer every condition on the fence of this
 * lease fails. Unless a process adopts it, the lock is free when the lease expires. Sends one request without faults.
 * Rejects with `lost` after an earlier loss, and without an acknowledgement for half of the reservation with
 * `outcome-unknown`, or with `access-denied` if DynamoDB refuses the credentials to the end: the lease has ended then,
 * too. Rejects with `invalid-argument` for a lease on a session, for a lease with several handles by reentry, for
 * several locks together, and for another client's format.
 */
export async function exportLease(
  lease: Lease<FormatTypes>,
  options: {
    /** For how long the lock stays reserved for the importer. Default: the length of the lease. */
    readonly lease?: Duration | undefined;
  } = {},
): Promise<LeaseTransfer> {
  const [hold, another] = handleOf("exportLease()", lease).holds as [Hold, Hold?];
  // A released handle must not end a shared hold.
  lease.assertHeld();
  if (another !== undefined) {
    throw new HoldfastError(
      "invalid-argument",
      `The locks "${lease.name}" cannot be exported together. Acquire each lock by itself.`,
      { lockName: lease.name },
    );
  }
  const { context, ref, settings } = hold;
  checkExportable(hold);
  const { lease: length } = checkNames("exportLease()", options, EXPORT_NAMES);
  const leaseMs = length === undefined ? hold.leaseMs : durationMs("lease", length, LEASE_RANGE);
  // Throws for a length that is too short here, before the lease ends.
  const lengthMs = actingMs(context, leaseMs);
  // The lease ends before the first send, as at a hand-off, so no answer revives the lease.
  hold.end("exported");
  return context.tracked(
    hold.requests.run(async () => {
      const { owner } = settings;
      const record = await reserve(hold, leaseMs, lengthMs);
      const { holder, fence } = record;
      const { name, namespace } = ref;
      const where = namespace === undefined ? { name } : { name, namespace };
      return { v: 1, ...where, holder, fence: String(fence), leaseMs, owner } as const;
    }),
  );
}

function checkExportable(hold: Hold): void {
  const { ref, living, handles, settings } = hold;
  requireCapability(hold.context.format, TRANSFERS);
  const why =
    ref.kind !== "lock"
      ? `only locks can be exported, and this record (of kind "${ref.kind}") is not a lock`
      : living.life !== undefined || settings.keptAliveBy !== undefined
        ? "a session of this process keeps the lock alive; acquire the lock without a session"
        : handles.isShared
          ? "another handle of this process shares the lock by reentry; release that handle first"
          : undefined;
  if (why === undefined) return;
  throw new HoldfastError("invalid-argument", `Lock "${ref.name}" cannot be exported: ${why}.`, {
    lockName: ref.name,
  });
}

/** Sends one write until DynamoDB answers, half of the reservation has passed, or the client closes. */
async function reserve(hold: Hold, leaseMs: number, lengthMs: number) {
  const { context, ref, held, settings } = hold;
  const grant = context.grant(ref, {
    ...{ leaseMs, owner: settings.owner, data: undefined, attributes: undefined },
    ...{ existingData: "keep", existingAttributes: "keep" },
  });
  const write = requireCapability(context.format, TRANSFERS).reserve(ref, grant, {
    known: held,
  });
  const deadline = new Deadline(context.clock, instantOf(context.clock), lengthMs);
  const pauseMs = settings.retryMs;
  let sends = 0;
  // Half of the usual timeout leaves time for a second send within the first half of the reservation.
  // Credentials expire and are replaced, so a refused export is sent again, too.
  const send = async () =>
    context.healing(await context.write(write, context.timeoutWithin(deadline.remainingMs()) / 2));
  // A long reservation makes this a long wait.
  const watch = new OutageWatch(context);
  const retried = await retry(context, send, {
    backoff: steady(pauseMs),
    isOver: () => deadline.remainingMs() <= leaseMs / 2,
    signal: context.closing,
    onMisconfigured: "end",
    onNoAnswer: (answer) => {
      sends += 1;
      watch.onNoResponse(answer);
    },
  }).finally(() => watch.dispose());
  if (retried.kind === "answered") {
    const { answer } = retried;
    // A delayed copy of this holder's claim can still be applied once the lock is free.
    context.abandon(held.holder);
    const found = context.seeRecord(ref, answer, "strong");
    // A refusal proves the export only if DynamoDB may have applied an earlier send.
    const mayBeOwn = mayBeApplied(answer) || sends > 0;
    if (mayBeOwn && found.state === "held" && found.holder === grant.holder) return found;
    throw lossError(ref, lossIn(found, held) ?? "stolen", undefined);
  }
  const { holder: attempt } = grant;
  // No process uses either of the two grants, so the lock need not stay held until it expires.
  rollBack(context, ref, { attempt, leaseMs, replaced: { known: held }, sends, pauseMs });
  const { last } = retried;
  const isDenied = last?.kind === "denied";
  throw new HoldfastError(
    isDenied ? last.cause.code : "outcome-unknown",
    `DynamoDB did not acknowledge the export of lock "${ref.name}". This holder has lost the lock. The lock is ` +
      `free now, or when its lease expires. ${isDenied ? last.cause.message : "Acquire it again."}`,
    { lockName: ref.name, cause: causeOf(last) },
  );
}
