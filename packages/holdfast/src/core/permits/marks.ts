import type { AbsentRecord, SharedRecord } from "../record/permits.js";

type Marks = SharedRecord["marks"];

// DynamoDB refuses a request that was signed more than 15 minutes ago. So no copy of a request is as old as this.
const OLDEST_REQUEST_MS = 3_600_000;
// Some 50 KB, far below the 400 KB that DynamoDB accepts in an item: past those, every write of the record fails.
const MOST_MARKS = 1_000;
// DynamoDB accepts an expression of 4 KB, and each removal takes some ten bytes of it.
const REMOVED_AT_ONCE = 50;

/**
 * Returns the marks that the next write of the record removes, oldest first: marks which no copy of a request can meet
 * any more, and what is above the most that a record keeps. Without the second, an hour of lost answers could make the
 * record too large for any write; a copy that then meets no mark is freed as an unused permit. Pure.
 */
export function removableMarks(marks: Marks, wallMs: number): string[] {
  const oldestFirst = [...marks].sort((a, b) => a.atMs - b.atMs);
  const surplus = oldestFirst.length - MOST_MARKS;
  return oldestFirst
    .filter(({ atMs }, at) => at < surplus || wallMs - atMs > OLDEST_REQUEST_MS)
    .slice(0, REMOVED_AT_ONCE)
    .map(({ holder }) => holder);
}

/** The marks of withdrawn attempts in the records that a client has seen. Keeps nothing of a record without marks. */
export class PermitMarks {
  readonly #seen = new Map<string, Marks>();

  /** Notes the marks of a record that an answer showed. */
  see(id: string, record: AbsentRecord | SharedRecord): void {
    if (record.state === "shared" && record.marks.length > 0) this.#seen.set(id, record.marks);
    else this.#seen.delete(id);
  }

  /** Returns the marks that the next write of the record removes. */
  removable(id: string, wallMs: number): string[] {
    return removableMarks(this.#seen.get(id) ?? [], wallMs);
  }
}
