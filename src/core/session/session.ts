import type { HoldfastError } from "../../errors.js";
import type { AcquireContext } from "../acquire/context.js";
import type { Hold } from "../hold/hold.js";
import type { KeepAliveSource } from "../hold/keep-alive.js";
import type { SessionKeepAlive } from "./keep-alive.js";

/** How a session is closed. */
export interface CloseSessionOptions {
  /**
   * What becomes of the leases on it. `"release"`, the default: each is released, one write each.
   * `"end"`: they end with the session, in one write for all; whoever wants one of them next reads the
   * session too before taking it.
   */
  readonly leases?: "release" | "end" | undefined;
}

/**
 * One lease that any number of held locks live by: one renewal, one write a period, keeps them all.
 *
 * A lock is granted with a lease of its own, and moves to the session with what would have been its
 * first renewal; one that is released before that costs what it costs without a session. What it does
 * not promise: losing the session ends every lease on it at once; and a lock on it that is freed by
 * somebody else's hand is noticed at this holder's next write to that lock, not at a renewal. Losing it
 * is final: open another. Protocol: spec/protocol.md, "Sessions"; the idea is Consul's and etcd's.
 */
export class Session implements AsyncDisposable {
  readonly #context: AcquireContext;
  readonly #life: SessionKeepAlive;

  /** @internal Made by `Holdfast.session`. */
  constructor(context: AcquireContext, life: SessionKeepAlive) {
    this.#context = context;
    this.#life = life;
  }

  /** @internal What a lease that names the session lives by. */
  static lifeOf(session: Session): SessionKeepAlive & KeepAliveSource<Hold> {
    return session.#life;
  }

  /** Random, and never used twice. Records on the session name it. */
  get id(): string {
    return this.#life.id;
  }

  /** The label for people that the session's record carries. */
  get owner(): string {
    return this.#life.owner;
  }

  /** For how long the session lasts without a renewal, in milliseconds; the same for its whole life. */
  get leaseMs(): number {
    return this.#life.leaseMs;
  }

  /** How many leases live by it, those included that have not moved to it yet. */
  get size(): number {
    return this.#life.size;
  }

  /** Whether it is alive now, computed from the clocks at every question. Costs no request. */
  get isHeld(): boolean {
    return this.#life.isHeld;
  }

  /** Milliseconds until the deadline of all leases on it; 0 once it has ended. Costs no request. */
  remainingMs(): number {
    return this.isHeld ? this.#life.deadline.remainingMs() : 0;
  }

  /**
   * Aborts when the session is lost, with a {@link HoldfastError} of code `lost`; not at its close.
   * Reading `aborted` looks at the clocks first, as a lease's does; compose it with {@link anySignal}, since a
   * signal of `AbortSignal.any` does not. Costs no request.
   */
  get signal(): AbortSignal {
    return this.#life.signal;
  }

  /**
   * Ends it, every lease on it with reason `closed`, and every acquisition that waits to live by it with
   * `closed`. The leases are released first, 256 at a time
   * and for at most the client's `closeTimeout`; then the session's record is freed, one write, after
   * which whatever could not be released is free too. Rejects with `outcome-unknown` if nobody answered
   * that last write for twice the request timeout: then all is free once the session's lease has run
   * out. Idempotent.
   */
  close(options: CloseSessionOptions = {}): Promise<void> {
    return this.#life.close(options.leases ?? "release");
  }

  /** Closes without throwing: what could not be answered goes to the client's `onError`. */
  async [Symbol.asyncDispose](): Promise<void> {
    await this.close().catch((error: HoldfastError) => this.#context.report(error));
  }
}
