import { type Holdfast, partsOf } from "../client.js";
import { withAcquisition } from "../core/acquire/acquire.js";
import type { AcquireContext } from "../core/acquire/context.js";
import { grantedTo, grantOnce } from "../core/acquire/grant.js";
import { type LeaseTransfer, SHORTEST_LEASE_MS } from "../core/hold/export.js";
import { HeldLease, type Lease } from "../core/hold/lease.js";
import { ADOPT_NAMES } from "../core/option-names.js";
import type { AcquireOptions } from "../core/options.js";
import { requireCapability } from "../core/record/capability.js";
import type { LeaseFormat, RecordRef } from "../core/record/format.js";
import type { FormatTypes } from "../core/record/format-types.js";
import { queueRefOf, refOf } from "../core/record/key.js";
import { HoldfastError } from "../errors.js";
import { inMs } from "../internal/duration.js";
import { checkNames, refuse } from "../internal/option-names.js";
import { shown } from "../internal/shown.js";
import { TRANSFERS } from "../native/native-transfers.js";
import { settingsOf } from "./locking.js";

/**
 * Imports the lock from a handle of {@link exportLease}; each handle works once. The import is a new grant with a
 * new fence, and its deadline counts from before the send. Without a new `data`, the record keeps the old data.
 * Costs one write. Rejects with `not-acquired` if the handle was used before, or if its lease expired and
 * another client acquired the lock; otherwise as {@link Lock.acquire}. Throws `invalid-argument`.
 */
export function adoptLease(
  client: Holdfast<FormatTypes>,
  handle: LeaseTransfer,
  options: Omit<
    AcquireOptions,
    "onWait" | "onPlaceExpired" | "onPosition" | "barge" | "ifHeld"
  > = {},
): Promise<Lease> {
  const { context, clientOptions, defaultOwner } = partsOf(client, "adoptLease()");
  const asked = checkNames("adoptLease()", options, ADOPT_NAMES);
  checkHandle(context.format, handle);
  // The data of the exporter stay in the record unless the importer gives data.
  const existingData = asked.data === undefined ? ("keep" as const) : undefined;
  // The length is the exporter's: the period of this client may be too long for it, and the default is a third of it.
  const { renew, ...others } = clientOptions;
  const isForThis = asked.lease !== undefined || renew === "manual";
  const layers = [
    asked,
    { existingData, lease: inMs(handle.leaseMs) },
    isForThis ? clientOptions : others,
  ];
  const settings = settingsOf(context, layers, defaultOwner, undefined);
  const { name, namespace } = handle;
  const ref =
    namespace === undefined
      ? refOf(context.format, name)
      : queueRefOf(context.format, name, namespace);
  return withAcquisition({
    context,
    refs: [ref],
    settings,
    grant: async (cancellation) => {
      const from = { holder: handle.holder, fence: BigInt(handle.fence) };
      const decision = { kind: "import", from } as const;
      // The lock is reserved for this caller, for a limited time.
      const acquisition = { context, ref, settings, cancellation };
      const answer = await grantOnce(acquisition, decision, "keep");
      if (answer.kind === "silent") throw cancellation.error();
      if (answer.kind === "refused") throw used(context, ref);
      return [grantedTo(acquisition, answer.result, "import")] as const;
    },
    begin: ([{ hold }]) => HeldLease.toCaller(hold),
  }) as Promise<Lease>;
}

function used(context: AcquireContext, ref: RecordRef): HoldfastError {
  const record = context.observations.held(ref.id);
  if (record !== undefined && context.abandoned.has(record.holder)) {
    return new HoldfastError(
      "not-acquired",
      `Lock "${ref.name}" was not imported: the answer to the import came when most of its lease had passed. The ` +
        "lock is free now, or when this lease expires. Acquire it.",
      { lockName: ref.name },
    );
  }
  const found =
    record?.state === "held"
      ? `${shown(record.owner ?? "an unnamed owner")} holds the lock`
      : "the lock is free now";
  return new HoldfastError(
    "not-acquired",
    `Lock "${ref.name}" was not imported: the transfer was already used or has expired, and ${found}. ` +
      "Acquire the lock, or let its holder export it again.",
    { lockName: ref.name },
  );
}

/** Checks a transfer, which came from another process. Throws `invalid-argument`. */
function checkHandle(format: LeaseFormat, handle: LeaseTransfer): void {
  requireCapability(format, TRANSFERS);
  const { v, name, holder, fence, leaseMs } = handle ?? {};
  const isWell =
    v === 1 &&
    [name, holder].every((text) => typeof text === "string" && text !== "") &&
    /^\d{1,38}$/.test(fence) &&
    Number.isSafeInteger(leaseMs) &&
    leaseMs >= SHORTEST_LEASE_MS;
  if (isWell) return;
  throw refuse(
    "The transfer is not valid. Pass the value that `exportLease()` resolved to, or its copy through JSON.",
  );
}
