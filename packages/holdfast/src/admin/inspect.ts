import { type Holdfast, partsOf } from "../client.js";
import type { FormatTypes, NativeTypes } from "../core/record/format-types.js";
import { checkNames } from "../internal/option-names.js";
import { type Inspection, inspectRecord } from "../locks/inspect.js";
import { inspectPermits } from "../locks/inspect-permits.js";
import {
  INSPECT_NAMES,
  INSPECT_PERMIT_NAMES,
  type InspectOptions,
  type InspectPermitOptions,
  isOfPermits,
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
  if (isOfPermits(options)) {
    checkNames("inspect()", options, INSPECT_PERMIT_NAMES);
    const ref = permitRecordRef(context.format, name, options.kind);
    return inspectPermits(context, ref) as Promise<Inspection<S>>;
  }
  checkNames("inspect()", options, INSPECT_NAMES);
  const ref = namedRef(context.format, name, options);
  return inspectRecord(context, ref) as Promise<Inspection<S>>;
}
