import { type Holdfast, partsOf } from "../client.js";
import type { FormatTypes, NativeTypes } from "../core/record/format-types.js";
import { checkNames } from "../internal/option-names.js";
import { type Inspection, inspectRecord } from "../locks/inspect.js";
import { inspectPermits, type PermitInspection } from "../locks/inspect-permits.js";
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
 * Describes a lock, a leadership or a task of `once` without acquiring it: see {@link Lock.inspect}. Costs a strong read, and a
 * second read for a lease on a session; with the kind "semaphore" or "read-write" as {@link Semaphore.inspect}. Throws
 * `invalid-argument`.
 */
export function inspect<S extends FormatTypes = NativeTypes>(
  client: Holdfast<S>,
  name: S["name"],
  options?: InspectOptions,
): Promise<Inspection<S>>;
export function inspect(
  client: Holdfast<FormatTypes>,
  name: string,
  options: InspectPermitOptions,
): Promise<PermitInspection>;
export function inspect(
  client: Holdfast<FormatTypes>,
  name: FormatTypes["name"],
  options: InspectOptions | InspectPermitOptions = {},
): Promise<unknown> {
  const { context } = partsOf(client, "inspect()");
  const { kind } = options;
  if (isPermitKind(kind)) {
    checkNames("inspect()", options as InspectPermitOptions, INSPECT_PERMIT_NAMES);
    return inspectPermits(context, permitRecordRef(context.format, name, kind));
  }
  checkNames("inspect()", options as InspectOptions, INSPECT_NAMES);
  return inspectRecord(context, namedRef(context.format, name, options as InspectOptions));
}
