import type { Inspection, ListPage, RecordKind } from "../index.js";
import { locksOf } from "./connection.js";
import { EXIT, usageError } from "./exit-codes.js";
import { type AnyLocks, nameText } from "./format.js";
import type { CommonOptions } from "./options.js";
import { columns, jsonLine, type Output, seconds } from "./output.js";

/** The options of `holdfast ls`, as commander leaves them. */
export interface LsOptions extends CommonOptions {
  readonly kind?: RecordKind;
  readonly prefix?: string;
  readonly limit?: string;
  readonly all?: boolean;
}

const HEADING = ["NAME", "STATE", "OWNER", "FENCE", "LEASE", "SINCE", "HOLDER"] as const;

/** Lists locks, or leaderships, by a scan, and says what that cost. Answers the exit status. */
export async function ls(options: LsOptions, output: Output): Promise<number> {
  const limit = limitOf(options.limit);
  await using locks = await locksOf(options, output);
  if (!output.isJson) output.err(`holdfast: This scans the whole table "${options.table}".`);
  const pages = locks.list({ kind: options.kind, prefix: options.prefix, free: options.all });
  const scan = await read(pages, limit, output);
  if (!output.isJson && scan.locks.length > 0) {
    output.out(columns(HEADING, scan.locks.map(rowOf)));
  }
  tellCost(scan, output);
  return EXIT.ok;
}

interface Scan {
  readonly locks: readonly Inspection<AnyLocks>[];
  readonly unreadable: number;
  readonly pages: number;
  readonly readUnits: number | undefined;
}

async function read(
  pages: AsyncIterable<ListPage<AnyLocks>>,
  limit: number,
  output: Output,
): Promise<Scan> {
  const locks: Inspection<AnyLocks>[] = [];
  let unreadable = 0;
  let count = 0;
  let readUnits: number | undefined;
  for await (const page of pages) {
    count += 1;
    if (page.readUnits !== undefined) readUnits = (readUnits ?? 0) + page.readUnits;
    const listed = page.locks.slice(0, limit - locks.length);
    locks.push(...listed);
    // As they come: a listing of a large table is read by a program, one line at a time.
    if (output.isJson) for (const lock of listed) output.out(jsonLine(lock));
    unreadable += page.unreadable.length;
    for (const { name, found } of page.unreadable) {
      output.err(
        output.isJson
          ? jsonLine({ unreadable: { name, found } })
          : `holdfast: The record of "${name}" cannot be read: ${found}`,
      );
    }
    if (locks.length >= limit) break;
  }
  return { locks, unreadable, pages: count, readUnits };
}

function rowOf(lock: Inspection<AnyLocks>): string[] {
  return [
    nameText(lock.name),
    lock.state,
    lock.owner ?? "",
    lock.fence?.toString() ?? "",
    lock.leaseMs === undefined ? "" : seconds(lock.leaseMs),
    lock.acquiredAt ?? "",
    lock.holder ?? "",
  ];
}

function tellCost({ locks, unreadable, pages, readUnits }: Scan, output: Output): void {
  if (output.isJson) {
    output.err(
      jsonLine({ scan: { locks: locks.length, unreadable, pages, readUnits: readUnits ?? null } }),
    );
    return;
  }
  const cost = readUnits === undefined ? "an unknown number of" : String(readUnits);
  const pagesRead = pages === 1 ? "1 page" : `${pages} pages`;
  output.err(
    `holdfast: ${locks.length} listed; the scan read ${pagesRead} and cost ${cost} read units.`,
  );
}

function limitOf(text: string | undefined): number {
  if (text === undefined) return Number.POSITIVE_INFINITY;
  const limit = Number(text);
  if (!Number.isInteger(limit) || limit < 1) {
    throw usageError(`--limit must be a whole number from 1; it is "${text}".`);
  }
  return limit;
}
