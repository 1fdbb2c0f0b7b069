import { HoldfastError } from "../errors.js";
import { shown } from "../internal/shown.js";
import { Attempt } from "../core/acquire/grant.js";
import { tellGrant, tellRefusal } from "../core/events.js";
import { assertHandsOn, type LeaseHandle, SHORTEST_LEASE_MS } from "../core/hold/export.js";
import type { LeaseFormat, RecordRef } from "../core/record/format.js";
import { noteGrant } from "../admin/history.js";
import { Hold } from "../core/hold/hold.js";
import type { Kernel } from "../core/context.js";
import { Lease } from "../core/hold/lease.js";
import { settingsOf } from "./locking.js";
import type { AcquireSettings, AnyAcquireOptions } from "../core/options.js";
import { queueRefOf, refOf } from "../core/record/key.js";
import { Stop } from "../core/acquire/cancellation.js";

/**
 * Takes over what was exported; see `Holdfast.import`. `layers`: what is asked for, the nearest first.
 * Throws `invalid-argument`.
 */
export function importLease(
  kernel: Kernel,
  handle: LeaseHandle,
  [asked, ...defaults]: readonly AnyAcquireOptions[],
  owner: string,
): Promise<Lease> {
  checkHandle(kernel.format, handle);
  // Data stay, unless there are others.
  const existingData = asked?.data === undefined ? ("keep" as const) : undefined;
  const layers = [asked ?? {}, { existingData, lease: handle.leaseMs }, ...defaults];
  const settings = settingsOf(kernel, layers, owner, undefined);
  const { name, namespace } = handle;
  const ref =
    namespace === undefined
      ? refOf(kernel.format, name)
      : queueRefOf(kernel.format, name, namespace);
  return kernel.tracked(importOnce(kernel, ref, handle, settings));
}

async function importOnce(
  kernel: Kernel,
  ref: RecordRef,
  handle: LeaseHandle,
  settings: AcquireSettings,
): Promise<Lease> {
  const fromMs = kernel.nowMs();
  const stop = new Stop(kernel, [ref], settings);
  try {
    if (stop.isStopped) throw stop.error();
    const from = { holder: handle.holder, fence: BigInt(handle.fence) };
    const attempt = new Attempt(kernel, ref, settings, stop, { kind: "import", from });
    const answer = await attempt.run();
    if (answer === "silent") throw stop.error();
    if (answer === "refused") throw used(kernel, ref);
    const hold = new Hold(kernel, ref, kernel.lines.alone(), answer);
    tellGrant(hold, "import", kernel.nowMs() - fromMs);
    noteGrant(kernel, { hold, record: answer.record, how: "import" });
    const lease = Lease.on(hold);
    if (!stop.isRefused) return lease;
    await lease.release();
    throw stop.error();
  } catch (error) {
    tellRefusal(ref, settings.owner, error, kernel.nowMs() - fromMs);
    throw error;
  } finally {
    stop.dispose();
  }
}

function used(kernel: Kernel, ref: RecordRef): HoldfastError {
  const record = kernel.observations.of(ref.id)?.record;
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
function checkHandle(format: LeaseFormat, handle: LeaseHandle): void {
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
