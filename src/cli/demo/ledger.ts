import { appendFileSync, readFileSync } from "node:fs";

/** One line of the ledger: what a worker wrote while it held the lock, or believed so. */
export interface Entry {
  /** The lock's name. */
  readonly name: string;
  /** The fence of the grant, in digits. */
  readonly fence: string;
  readonly worker: string;
  readonly pid: number;
  /** The monotonic clock of the machine, in digits: one order for all processes. */
  readonly monotonicNs: string;
  /** Civil time, for people. */
  readonly at: string;
}

/** One grant, as the ledger shows it. */
interface Grant {
  readonly name: string;
  readonly fence: bigint;
  readonly author: string;
  readonly line: number;
  readonly fromNs: bigint;
  toNs: bigint;
}

/** What the ledger says, recomputed from the file alone. */
export interface LedgerReport {
  readonly entries: number;
  readonly grants: number;
  readonly workers: number;
  /** Empty if the ledger is in order. */
  readonly problems: readonly string[];
}

/** Appends one line, in one write, so that lines of two processes never mix. */
export function appendEntry(file: string, entry: Entry): void {
  appendFileSync(file, `${JSON.stringify(entry)}\n`);
}

/** Reads and checks a ledger. */
export function checkLedgerFile(file: string): LedgerReport {
  return checkLedger(readFileSync(file, "utf8"));
}

/**
 * Checks that one process at a time wrote, and in the order of the fences:
 * 1. the entries of a grant stand together, and have one author;
 * 2. per name, every grant has a higher fence than all before it, so no former holder wrote late;
 * 3. each entry was written after the one before it, so the holds, too, lie one after another.
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

/** Counts an entry to the grant before it, or as a new one; answers what is wrong with that. */
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
  if (writtenNs < last.toNs) return `Line ${line}: it is older than the line before it.`;
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
      : [`Line ${grant.line}: the hold of ${grant.author} overlaps that of ${before.author}.`];
  });
}
