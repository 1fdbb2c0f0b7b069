import { HoldfastError } from "../../errors.js";
import type { Hold } from "./hold.js";
import { HeldLease, type Lease } from "./lease.js";
import type { RenewOptions } from "./writes.js";

/**
 * The lease of a run, for its work. The data of the record are the memory of the runs, without which an occurrence would run
 * twice: the work cannot write them. And its release, such as at the end of an `await using`, frees the record only when the
 * run has ended.
 */
export class TaskLease extends HeldLease {
  /** A further handle of the hold, which must be released before the run's own. */
  constructor(hold: Hold) {
    super(hold);
    hold.handles.add();
  }

  override async update(): Promise<void> {
    throw new HoldfastError(
      "invalid-argument",
      `The record of task "${this.name}" remembers its runs in its data. Store the data in a record of your own.`,
      { lockName: this.name },
    );
  }

  override async renew(options: RenewOptions = {}): Promise<void> {
    if (options?.data !== undefined) await this.update();
    await super.renew(options);
  }
}

/** Runs the work of a run under a handle of its own. Settles as the work. */
export async function underTaskLease<T>(
  { hold }: HeldLease,
  work: (lease: Lease) => T | PromiseLike<T>,
): Promise<T> {
  const own = new TaskLease(hold);
  try {
    return await work(own as HeldLease as unknown as Lease);
  } finally {
    await own.release();
  }
}
