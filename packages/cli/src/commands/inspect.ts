import { type Inspection, inspect as inspectName } from "holdfast";
import type { PermitInspection, PermitKind, RecordKind } from "holdfast/admin";
import { locksOf } from "../connection.js";
import type { CommonOptions, NamespaceOptions } from "../options.js";
import { EXIT } from "../output/exit-codes.js";
import {
  type AnyLocks,
  dataText,
  endText,
  nameOf,
  nameText,
  OWED,
  requestText,
  type SortOptions,
} from "../output/format.js";
import { jsonLine, type Output, printable, seconds } from "../output/output.js";
import { assertPlainName, isPermitKind, permitsText } from "../output/permits.js";
import { failureIn, outcomeIn } from "./occurrence.js";
import { pointAtOtherKinds } from "./other-kinds.js";

/** The options of `holdfast inspect`, as parsed by commander. */
interface InspectCommandOptions extends CommonOptions, SortOptions, NamespaceOptions {
  readonly kind?: RecordKind | PermitKind;
}

/** Shows the state of a lock, or leadership, by one strongly consistent read. Returns the exit status. */
export async function inspect(
  name: string,
  options: InspectCommandOptions,
  output: Output,
): Promise<number> {
  const { kind, namespace } = options;
  await using locks = await locksOf(options, output);
  if (isPermitKind(kind)) {
    assertPlainName(options);
    const permits = (await inspectName(locks, name, { kind })) as PermitInspection;
    output.out(output.isJson ? jsonLine(permits) : permitsText(permits, output.width));
    if (permits.state === "absent")
      await pointAtOtherKinds("inspect", locks, name, options, output);
    return EXIT.ok;
  }
  const found = await inspectName(locks, nameOf(name, options), { kind, namespace });
  output.out(output.isJson ? jsonLine(found) : described(found, kind));
  if (found.state === "absent") await pointAtOtherKinds("inspect", locks, name, options, output);
  return EXIT.ok;
}

function described(lock: Inspection<AnyLocks>, kind: RecordKind | undefined): string {
  const occurrence = kind === "once" ? occurrenceIn(lock) : undefined;
  const lines: readonly (readonly [string, string | undefined])[] = [
    ["name", nameText(lock.name)],
    ["namespace", lock.namespace],
    ["state", lock.state],
    [lock.state === "held" ? "owner" : "last owner", lock.owner],
    ["holder", lock.holder],
    ["session", lock.session],
    ["fence", lock.fence?.toString()],
    ["version", lock.version?.toString()],
    ["acquired at", lock.acquiredAt && `${lock.acquiredAt} by its holder's clock`],
    ["lease", lock.leaseMs === undefined ? undefined : seconds(lock.leaseMs)],
    ["lease ends", leaseEnd(lock)],
    ["takeable in", lock.state === "held" ? takeable(lock) : undefined],
    ["forced", forced(lock)],
    // The line about the forced release says more.
    ["request", lock.request?.kind === "release" ? undefined : requestText(lock)],
    ["calls", lock.isOwed === true ? OWED : undefined],
    ["occurrence", occurrence],
    ["error", occurrence === undefined ? undefined : failureIn(lock.data)],
    ["data", lock.data === undefined || occurrence !== undefined ? undefined : dataText(lock.data)],
    ["attributes", lock.attributes && jsonOf(lock.attributes)],
  ];
  const shown = lines.filter(([, value]) => value !== undefined);
  const width = Math.max(...shown.map(([label]) => label.length)) + 2;
  return shown
    .map(([label, value]) => `${label.padEnd(width)}${printable(value ?? "")}`)
    .join("\n");
}

/** The last occurrence of a task, and its state; undefined if the record has no occurrence. */
function occurrenceIn({ data, state, appearsExpired }: Inspection<AnyLocks>): string | undefined {
  const { occurrence, ended } = (data ?? {}) as Readonly<Record<string, unknown>>;
  if (typeof occurrence !== "string") return undefined;
  if (ended === true || (ended === undefined && state === "free"))
    return `${occurrence}, ${outcomeIn(data) ?? "ended"}`;
  const isRunning = state === "held" && !appearsExpired;
  return `${occurrence}, ${isRunning ? "running" : "interrupted"}`;
}

// Most records have no further attributes.
function jsonOf(attributes: NonNullable<Inspection<AnyLocks>["attributes"]>): string | undefined {
  return Object.keys(attributes).length === 0 ? undefined : jsonLine(attributes);
}

function forced({ forced: last, holder }: Inspection<AnyLocks>): string | undefined {
  if (last === undefined) return undefined;
  const how =
    last.holder === holder ? "the holder was asked to release" : "an earlier holder was released";
  return `${how}, by ${last.by} at ${last.at}: ${last.reason}`;
}

/** The end of the lease, and whether it has passed; undefined without an end. */
function leaseEnd({ endsAt, endsInMs }: Inspection<AnyLocks>): string | undefined {
  if (endsAt === undefined || endsInMs === undefined) return endsAt;
  return `${endsAt}, ${endText(endsInMs)}, by the table's clock`;
}

// Without an end in the record, only a watch of a whole lease tells a dead holder from a live holder.
function takeable({ acquirableInMs, appearsExpired, session }: Inspection<AnyLocks>): string {
  if (appearsExpired)
    return session === undefined ? "now" : "now: the session has ended, or is dead";
  return `${seconds(acquirableInMs)} at the earliest, if the holder stays silent`;
}
