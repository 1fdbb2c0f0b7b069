import { type Holdfast, partsOf } from "../client.js";
import type { AcquireContext } from "../core/acquire/context.js";
import type { FormatTypes, NativeTypes } from "../core/record/format-types.js";
import { checkNames } from "../internal/option-names.js";
import { type Inspection, inspectRecord } from "../locks/inspect.js";
import { inspectPermits } from "../locks/inspect-permits.js";
import {
  INSPECT_NAMES,
  INSPECT_PERMIT_NAMES,
  type InspectOptions,
  type InspectPermitOptions,
  isPermitKind,
  namedRef,
  permitRecordRef,
} from "./kinds.js";

/**
 * Describes a lock, a leadership, a task of `once`, a semaphore or a read-write lock without acquiring it. Costs a
 * strongly consistent read, which also counts as watching the holder, and a second read for a lease on a session; with
 * the kind "semaphore" or "read-write" the reads of {@link semaphore}. For the waiters, see `listQueue()` of
 * `holdfast/admin`. Rejects with `unreachable`, `throttled`, `misconfigured`, `access-denied`, `foreign-record` or
 * `unsupported-layout`. Throws `invalid-argument`.
 */
export function inspect<S extends FormatTypes = NativeTypes>(
  client: Holdfast<S>,
  name: S["name"],
  options: InspectOptions | InspectPermitOptions = {},
): Promise<Inspection<S>> {
  const { context } = partsOf(client, "inspect()");
  return inspected(context, name, options) as Promise<Inspection<S>>;
}

function inspected(
  context: AcquireContext,
  name: FormatTypes["name"],
  options: InspectOptions | InspectPermitOptions,
): Promise<Inspection> {
  // The options are not checked yet.
  const kind = (options as InspectPermitOptions | null)?.kind;
  if (isPermitKind(kind)) {
    checkNames("inspect()", options as InspectPermitOptions, INSPECT_PERMIT_NAMES);
    return inspectPermits(context, permitRecordRef(context.format, name, kind));
  }
  checkNames("inspect()", options as InspectOptions, INSPECT_NAMES);
  return inspectRecord(context, namedRef(context.format, name, options as InspectOptions));
}
