import { appendFileSync, readFileSync } from "node:fs";

/** A line of the ledger, from a worker that held the lock or believed so. */
export interface Entry {
  /** The lock's name. */
  readonly name: string;
  /** The fence of the grant, in digits. */
  readonly fence: string;
  readonly worker: string;
  readonly pid: number;
  /** The machine's monotonic clock, as digits: the same order for all processes. */
  readonly monotonicNs: string;
  /** Wall-clock time, for people. */
  readonly at: string;
}

/** A grant in the ledger. */
interface Grant {
  readonly name: string;
  readonly fence: bigint;
  readonly author: string;
  readonly line: number;
  readonly fromNs: bigint;
  toNs: bigint;
}

/** The content of the ledger, computed from the file alone. */
export interface LedgerReport {
  readonly entries: number;
  readonly grants: number;
  readonly workers: number;
  /** Empty if the ledger is in order. */
  readonly problems: readonly string[];
}

/** Appends a line in a single write, so that lines of two processes never mix. */
export function appendEntry(file: string, entry: Entry): void {
  appendFileSync(file, `${JSON.stringify(entry)}\n`);
}

/** Reads and checks a ledger. */
export function checkLedgerFile(file: string): LedgerReport {
  return checkLedger(readFileSync(file, "utf8"));
}

/**
 * Checks that no two workers wrote at the same time, and that fences grew:
 * 1. the entries of a grant are adjacent and have a single author;
 * 2. for each name, every grant has a higher fence than all earlier grants, so no former holder wrote late;
 * 3. every entry is later than the entry before, so holds do not overlap either.
 */
export function checkLedger(text: string): LedgerReport {
  const entries = text
    .split("\n")
    .filter((line) => line !== "")
    .map((line) => JSON.parse(line) as Entry);
  const grants: Grant[] = [];
  const problems: string[] = [];
  for (const [at, entry] of entries.entries()) {
    const last = grants.findLast((grant) => grant.name === entry.name);
    const problem = follow(last, entry, at + 1, grants);
    if (problem !== undefined) problems.push(problem);
  }
  const workers = new Set(entries.map(({ worker }) => worker)).size;
  return {
    entries: entries.length,
    grants: grants.length,
    workers,
    problems: [...problems, ...overlaps(grants)],
  };
}

/** Adds an entry to the last grant, or starts a new grant. Returns the problem, if any. */
function follow(
  last: Grant | undefined,
  entry: Entry,
  line: number,
  grants: Grant[],
): string | undefined {
  const fence = BigInt(entry.fence);
  const writtenNs = BigInt(entry.monotonicNs);
  const author = `${entry.worker} (pid ${entry.pid})`;
  const { name } = entry;
  if (last !== undefined && fence < last.fence) {
    return (
      `Line ${line}: ${author} wrote with fence ${fence} after ${last.author} had written with ` +
      `fence ${last.fence}.`
    );
  }
  if (last === undefined || fence > last.fence) {
    grants.push({ name, fence, author, line, fromNs: writtenNs, toNs: writtenNs });
    return undefined;
  }
  if (author !== last.author) {
    return `Line ${line}: ${author} and ${last.author} both wrote with fence ${fence}.`;
  }
  if (writtenNs < last.toNs) return `Line ${line}: the entry is older than the line before.`;
  last.toNs = writtenNs;
  return undefined;
}

function overlaps(grants: readonly Grant[]): string[] {
  return grants.flatMap((grant) => {
    const before = grants.findLast(
      (other) => other.name === grant.name && other.fence < grant.fence,
    );
    return before === undefined || before.toNs < grant.fromNs
      ? []
      : [`Line ${grant.line}: the hold of ${grant.author} overlaps the hold of ${before.author}.`];
  });
}
