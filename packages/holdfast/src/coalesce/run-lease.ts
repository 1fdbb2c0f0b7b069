import { HeldLease } from "../core/hold/lease.js";
import { HoldfastError } from "../errors.js";

/** The lease of a coalesced run. Only the end of the run releases it: that write also says what the run has covered. */
export class RunLease extends HeldLease {
  override release(): Promise<void> {
    const error = new HoldfastError(
      "invalid-argument",
      `The function of coalesce() must not release the lease of "${this.name}". The lease ends with the function.`,
      { lockName: this.name },
    );
    return Promise.reject(error);
  }
}
