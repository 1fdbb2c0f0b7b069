import { requireCapability } from "../core/record/capability.js";
import type { LeaseFormat, RecordRef } from "../core/record/format.js";
import type { LockName } from "../core/record/format-types.js";
import { queueRefOf, refOf } from "../core/record/key.js";
import { checkName } from "../core/record/name.js";
import type { HoldfastError } from "../errors.js";
import { type OptionNames, refuse } from "../internal/option-names.js";
import { valueText } from "../internal/value-text.js";
import type { PermitKind } from "../locks/inspect-permits.js";
import { PERMITS } from "../native/native-permits.js";

/** The kinds of records whose holder an operator can ask to release: locks, and leaderships of elections. */
export type HolderKind = "lock" | "leader";

/** The kinds of records with a name: also the tasks of `once`. */
export type RecordKind = HolderKind | "once";

/** The kinds of records that a listing can show. */
export type AnyKind = RecordKind | PermitKind;

/** Options of `inspect()`. */
export interface InspectOptions {
  /**
   * `leader` for the leadership of an election, `once` for a task of `once()`. The `data` of a task has the last
   * occurrence, and whether its run has `ended`. Default `lock`.
   */
  readonly kind?: RecordKind | undefined;
  /** The namespace of a fair lock. Default: none, for the lock of `mutex(client, name)`. */
  readonly namespace?: string | undefined;
}

/** Options of `inspect()` for a semaphore or a read-write lock. */
export interface InspectPermitOptions {
  readonly kind: PermitKind;
}

export const INSPECT_PERMIT_NAMES: OptionNames<InspectPermitOptions> = { kind: true };

export const INSPECT_NAMES: OptionNames<InspectOptions> = { kind: true, namespace: true };

/** Returns the record of this name, kind and namespace. Throws `invalid-argument`. */
export function namedRef(format: LeaseFormat, name: LockName, options: InspectOptions): RecordRef {
  const kind = kindOf(options);
  if (options.namespace === undefined) return refOf(format, name, kind);
  if (kind === "lock") return queueRefOf(format, name as string, options.namespace);
  throw refuse(
    `The option \`namespace\` is for fair locks only, and "${name}" is of kind "${kind}". Leave the option out.`,
  );
}

/** Returns the record of a semaphore or of a read-write lock. Throws `invalid-argument`. */
export function permitRecordRef(format: LeaseFormat, name: LockName, kind: PermitKind): RecordRef {
  return requireCapability(format, PERMITS).refOf(kind, checkName(name as string));
}

export const PERMIT_KINDS: readonly PermitKind[] = ["semaphore", "read-write"];

/** Whether the records of this kind have permits. */
export function isPermitKind(kind: string | undefined): kind is PermitKind {
  return (PERMIT_KINDS as readonly unknown[]).includes(kind);
}

/** Whether the options of a call, which the caller checks later, are of a kind with permits. */
export function isOfPermits<O extends { readonly kind: PermitKind }>(
  options:
    | O
    | { readonly kind?: RecordKind | undefined }
    | { readonly namespace?: string | undefined },
): options is O {
  return isPermitKind((options as { readonly kind?: string } | undefined | null)?.kind);
}

export const RECORD_KINDS: readonly RecordKind[] = ["lock", "leader", "once"];
const HOLDER_KINDS: readonly RecordKind[] = ["lock", "leader"];

/** Resolves the kind. Throws `invalid-argument`. */
export function kindOf({ kind = "lock" }: Pick<InspectOptions, "kind">): RecordKind {
  return checkKind(kind, RECORD_KINDS);
}

/** Checks the kind of a record that names a holder. Throws `invalid-argument`. */
export function checkHolderKind({ kind = "lock" }: Pick<InspectOptions, "kind">): void {
  checkKind(kind, HOLDER_KINDS);
}

/** Checks the kind of a function whose only kinds are those with permits. Throws `invalid-argument`. */
export function checkPermitKind(options: object): void {
  const { kind } = (options ?? {}) as { readonly kind?: unknown };
  if (kind === undefined) return;
  throw wrongKind(kind, PERMIT_KINDS, ". Leave the option out for a lock");
}

function checkKind(kind: RecordKind, allowed: readonly RecordKind[]): RecordKind {
  if (allowed.includes(kind)) return kind;
  // The caller has taken out the kinds with permits.
  throw wrongKind(kind, [...allowed, ...PERMIT_KINDS]);
}

function wrongKind(kind: unknown, allowed: readonly AnyKind[], orElse = ""): HoldfastError {
  const kinds = allowed.map((one) => `"${one}"`).join(" or ");
  return refuse(`The option \`kind\` must be ${kinds}; it is ${valueText(kind)}${orElse}.`);
}
