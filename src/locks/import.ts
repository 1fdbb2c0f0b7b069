import { Cancellation } from "../core/acquire/cancellation.js";
import type { AcquireContext } from "../core/acquire/context.js";
import { GrantWrite } from "../core/acquire/grant.js";
import { noteGrant } from "../core/acquire/note-grant.js";
import type { AcquireSettings } from "../core/acquire/settings.js";
import { emitAcquireFailed, emitGrant } from "../core/events.js";
import { assertHandsOn, type LeaseTransfer, SHORTEST_LEASE_MS } from "../core/hold/export.js";
import { Hold } from "../core/hold/hold.js";
import { Lease } from "../core/hold/lease.js";
import type { AnyAcquireOptions } from "../core/options.js";
import type { LeaseFormat, RecordRef } from "../core/record/format.js";
import { queueRefOf, refOf } from "../core/record/key.js";
import { HoldfastError } from "../errors.js";
import { shown } from "../internal/shown.js";
import { settingsOf } from "./locking.js";

/**
 * Takes over what was exported; see `Holdfast.import`. `layers`: what is asked for, the nearest first.
 * Throws `invalid-argument`.
 */
export function importLease(
  context: AcquireContext,
  handle: LeaseTransfer,
  [asked, ...defaults]: readonly AnyAcquireOptions[],
  owner: string,
): Promise<Lease> {
  checkHandle(context.format, handle);
  // Data stay, unless there are others.
  const existingData = asked?.data === undefined ? ("keep" as const) : undefined;
  const layers = [asked ?? {}, { existingData, lease: handle.leaseMs }, ...defaults];
  const settings = settingsOf(context, layers, owner, undefined);
  const { name, namespace } = handle;
  const ref =
    namespace === undefined
      ? refOf(context.format, name)
      : queueRefOf(context.format, name, namespace);
  return context.tracked(importOnce(context, ref, handle, settings));
}

async function importOnce(
  context: AcquireContext,
  ref: RecordRef,
  handle: LeaseTransfer,
  settings: AcquireSettings,
): Promise<Lease> {
  const fromMs = context.nowMs();
  const cancellation = new Cancellation(context, [ref], settings);
  try {
    if (cancellation.isStopped) throw cancellation.error();
    const from = { holder: handle.holder, fence: BigInt(handle.fence) };
    const attempt = new GrantWrite(context, ref, settings, cancellation, { kind: "import", from });
    const answer = await attempt.run();
    if (answer === "silent") throw cancellation.error();
    if (answer === "refused") throw used(context, ref);
    const hold = new Hold(context, ref, context.localQueues.alone(), answer);
    emitGrant(hold, "import", context.nowMs() - fromMs);
    noteGrant(context, { hold, record: answer.record, how: "import" });
    const lease = Lease.on(hold);
    if (!cancellation.isRefused) return lease;
    await lease.release();
    throw cancellation.error();
  } catch (error) {
    emitAcquireFailed(ref, settings.owner, error, context.nowMs() - fromMs);
    throw error;
  } finally {
    cancellation.dispose();
  }
}

function used(context: AcquireContext, ref: RecordRef): HoldfastError {
  const record = context.observations.of(ref.id)?.record;
  const found =
    record?.state === "held"
      ? `${shown(record.owner ?? "somebody")} holds it`
      : "nobody holds it now";
  return new HoldfastError(
    "not-acquired",
    `Lock "${ref.name}" was not imported: the handle was used before, or has run out; ${found}.`,
    { lockName: ref.name },
  );
}

/** Checks what came from elsewhere. Throws `invalid-argument`. */
function checkHandle(format: LeaseFormat, handle: LeaseTransfer): void {
  assertHandsOn(format);
  const { v, name, holder, fence, leaseMs } = handle ?? {};
  const isWell =
    v === 1 &&
    [name, holder].every((text) => typeof text === "string" && text !== "") &&
    /^\d{1,38}$/.test(fence) &&
    Number.isSafeInteger(leaseMs) &&
    leaseMs >= SHORTEST_LEASE_MS;
  if (isWell) return;
  throw new HoldfastError(
    "invalid-argument",
    "A handle must be what `lease.export()` resolved to, as it was or through JSON.",
  );
}
