import type { HoldfastError } from "../../errors.js";
import { checkNames, checkOneOf, type OptionNames } from "../../internal/option-names.js";
import { printAs } from "../../internal/printed.js";
import type { AcquireContext } from "../acquire/context.js";
import type { SessionKeepAlive } from "./keep-alive.js";
import { setLife } from "./life.js";

const CLOSE_NAMES: OptionNames<{ leases?: unknown }> = { leases: true };

/**
 * Keeps any number of held locks alive with a single lease: one renewal, one write a period, for all.
 *
 * A holder gets a lock with a lease of its own. Instead of the first renewal, the lease moves to the session. A lock
 * that the holder releases earlier costs the same as without a session.
 *
 * Not promised:
 * - Locks that survive the session. The loss of the session ends every lease on the session at once.
 * - Early notice of a lock that an operator or another client freed. The holder sees this at its next write to that
 *   lock, not at a renewal.
 *
 * A loss is final: open a new session. Protocol: spec/protocol.md, "Sessions". The idea is Consul's and etcd's.
 */
export class Session implements AsyncDisposable {
  readonly #context: AcquireContext;
  readonly #life: SessionKeepAlive;

  /** @internal Created by `openSession`. */
  constructor(context: AcquireContext, life: SessionKeepAlive) {
    this.#context = context;
    this.#life = life;
    setLife(this, life);
    printAs(this, "Session", () => ({
      ...{ id: this.id, owner: this.owner, size: this.size },
      ...{ isHeld: this.isHeld, remainingMs: this.remainingMs() },
    }));
  }

  /** The random id of the session, never used twice. Records on the session name the id. */
  get id(): string {
    return this.#life.id;
  }

  /** The owner label in the record of the session, for people to read. */
  get owner(): string {
    return this.#life.owner;
  }

  /** The length of the session without a renewal, in milliseconds. Never changes. */
  get leaseMs(): number {
    return this.#life.leaseMs;
  }

  /** The number of leases on the session, including leases that have not moved to the session yet. */
  get size(): number {
    return this.#life.size;
  }

  /** Whether the session is alive now, computed from the clocks at every call. Costs no request. */
  get isHeld(): boolean {
    return this.#life.isHeld;
  }

  /** Milliseconds until the deadline of all leases on the session, or 0 after its end. Costs no request. */
  remainingMs(): number {
    return this.isHeld ? this.#life.deadline.remainingMs() : 0;
  }

  /**
   * Aborts when the session is lost, with a {@link HoldfastError} of code `lost`. Does not abort at `close()`.
   * Reading `aborted` reads the clocks first, as for a lease. Combine the signal by {@link anySignal}: a signal of
   * `AbortSignal.any` does not read the clocks. Costs no request.
   */
  get signal(): AbortSignal {
    return this.#life.signal;
  }

  /**
   * Closes the session. Ends every lease on the session with reason `closed`, and every acquisition that waits for a
   * lease on the session with `closed`. First releases the leases, 256 at a time and for at most the client's
   * `closeTimeout`. Then frees the record of the session, with one write; this also frees the locks on the session that
   * could not be released. Of a lock that had not moved to the session yet, the client's `onError` receives the error.
   * Rejects with `outcome-unknown` if DynamoDB did not answer that write within twice the request timeout:
   * all locks are then free when the lease of the session expires. Idempotent.
   */
  close(
    options: {
      /**
       * What happens to the leases on the session. `"release"` (default) releases each lease, with one write for each.
       * `"end"` ends all leases with the session, in one write, and releases only leases and places in queues that have
       * not moved to the session yet, with one write for each. The next client that acquires a lock that ended with the
       * session reads the session first.
       */
      readonly leases?: "release" | "end" | undefined;
    } = {},
  ): Promise<void> {
    checkNames("close()", options, CLOSE_NAMES);
    const { leases = "release" } = options;
    return this.#life.close(checkOneOf("leases", leases, ["release", "end"]));
  }

  /** Closes the session without throwing: passes the error of an unanswered request to the client's `onError`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close().catch((error: HoldfastError) => this.#context.report(error));
  }
}
