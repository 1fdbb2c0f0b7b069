import type { Inspection } from "holdfast";
import {
  type ListPage,
  listLocks,
  type PermitInspection,
  type PermitKind,
  type RecordKind,
} from "holdfast/admin";
import { shown, systemClock } from "holdfast/internal";
import { checkKey, locksOf } from "../connection.js";
import type { CommonOptions } from "../options.js";
import { EXIT, usageError } from "../output/exit-codes.js";
import { type AnyLocks, endText, lockText, withPending } from "../output/format.js";
import { age, cell, columns, jsonLine, type Output, seconds } from "../output/output.js";
import { isPermitKind } from "../output/permits.js";

/** The options of `holdfast ls`, as parsed by commander. */
interface LsOptions extends CommonOptions {
  readonly kind?: RecordKind | PermitKind;
  readonly prefix?: string;
  readonly limit?: string;
  readonly all?: boolean;
}

const HEADING = ["NAME", "STATE", "OWNER", "FENCE", "LEASE", "ENDS", "AGE", "HOLDER"] as const;

const PERMIT_HEADING = ["NAME", "STATE", "USED", "LIMIT", "PERMITS", "QUEUE", "OWNERS"] as const;

// A semaphore may have a thousand holders; --json prints all.
const MOST_OWNERS = 3;

/** Lists locks, or leaderships, by a scan, and prints its cost. Returns the exit status. */
export async function ls(options: LsOptions, output: Output): Promise<number> {
  const limit = limitOf(options.limit);
  const note = output.isJson ? undefined : `This scans the whole table "${options.table}".`;
  await using locks = await locksOf(options, output, { note });
  const { kind, prefix, all: free } = options;
  const scan = isPermitKind(kind)
    ? await read(listLocks(locks, { kind, prefix, free }), limit, permitRow, output)
    : await read(listLocks(locks, { kind, prefix, free }), limit, rowOf, output);
  const heading = isPermitKind(kind) ? PERMIT_HEADING : HEADING;
  if (scan.rows.length > 0) output.out(columns(heading, byName(scan.rows), output.width));
  printCost(scan, output);
  if (scan.listed + scan.unreadable === 0) await checkKey(locks, options);
  return EXIT.ok;
}

interface Scan {
  /** For the table of people; with --json each lock is printed at once. */
  readonly rows: readonly string[][];
  readonly listed: number;
  readonly unreadable: number;
  readonly pages: number;
  readonly readUnits: number | undefined;
}

async function read<I>(
  pages: AsyncIterable<Pick<ListPage<AnyLocks, I>, "locks" | "unreadable" | "readUnits">>,
  limit: number,
  toRow: (lock: I) => readonly string[],
  output: Output,
): Promise<Scan> {
  const rows: string[][] = [];
  let listed = 0;
  let unreadable = 0;
  let count = 0;
  let readUnits: number | undefined;
  for await (const page of pages) {
    count += 1;
    if (page.readUnits !== undefined) readUnits = (readUnits ?? 0) + page.readUnits;
    const locks = page.locks.slice(0, limit - listed);
    listed += locks.length;
    for (const lock of locks) {
      // Print at once: a program reads the listing of a large table line by line.
      if (output.isJson) output.out(jsonLine(lock));
      // Keep only the cells: the user data of a whole table would not fit into memory.
      else rows.push(toRow(lock).map(cell));
    }
    unreadable += page.unreadable.length;
    for (const { name, found } of page.unreadable) {
      output.err(
        output.isJson
          ? jsonLine({ unreadable: { name, found } })
          : `holdfast: The record of "${shown(name)}" cannot be read: ${shown(found)}`,
      );
    }
    if (listed >= limit) break;
  }
  return { rows, listed, unreadable, pages: count, readUnits };
}

// A scan has the order of a hash.
function byName(rows: readonly string[][]): readonly string[][] {
  return [...rows].sort(([a = ""], [b = ""]) => (a < b ? -1 : a > b ? 1 : 0));
}

function rowOf(lock: Inspection<AnyLocks>): string[] {
  return [
    lockText(lock),
    withPending(lock.state, lock),
    lock.owner ?? "",
    lock.fence?.toString() ?? "",
    lock.leaseMs === undefined ? "" : seconds(lock.leaseMs),
    lock.endsInMs === undefined ? "" : endText(lock.endsInMs),
    age(lock.acquiredAt, systemClock.wallMs()),
    lock.holder ?? "",
  ];
}

function permitRow({
  name,
  state,
  used,
  limit,
  permits,
  isQueued,
  request,
}: PermitInspection): string[] {
  const owners = permits.slice(0, MOST_OWNERS).map(({ owner, holder }) => owner ?? holder);
  const more = permits.length > MOST_OWNERS ? ", ..." : "";
  return [
    ...[
      name,
      withPending(state, { request }),
      String(used),
      limit?.toString() ?? "",
      String(permits.length),
    ],
    ...[isQueued ? "yes" : "", owners.join(", ") + more],
  ];
}

function printCost({ listed, unreadable, pages, readUnits }: Scan, output: Output): void {
  if (output.isJson) {
    output.err(
      jsonLine({ scan: { locks: listed, unreadable, pages, readUnits: readUnits ?? null } }),
    );
    return;
  }
  const cost = readUnits === undefined ? "an unknown number of" : String(readUnits);
  const pagesRead = pages === 1 ? "1 page" : `${pages} pages`;
  output.note(`${listed} listed; the scan read ${pagesRead} and cost ${cost} read units.`);
}

function limitOf(text: string | undefined): number {
  if (text === undefined) return Number.POSITIVE_INFINITY;
  const limit = Number(text);
  if (!Number.isInteger(limit) || limit < 1) {
    throw usageError(`--limit must be a whole number from 1; it is "${text}".`);
  }
  return limit;
}
