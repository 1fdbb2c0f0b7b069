import type { HoldfastError } from "../../errors.js";
import type { SignalLike } from "../../platform/abort.js";
import type { ClientContext } from "../context.js";
import type { LeaseSettings } from "../options.js";
import type { Holders, RecordRef } from "../record/format.js";
import type { HeldRecord, Passage } from "../record/record.js";
import type { Deadline } from "./deadline.js";

/**
 * What leases can live by instead of renewals of their own: one renewal answers for all of them. The
 * one there is is a session.
 */
export interface KeepAlive<L> {
  /** For how long its holder may be silent, in milliseconds; fixed for its life. */
  readonly leaseMs: number;
  /** Moved by its answered renewals only. */
  readonly deadline: Deadline;
  /** Whether it is alive now, by the clocks. */
  readonly isHeld: boolean;
  /** Ends it, and all that live by it, if its deadline has passed. */
  check(): void;
  /** Renews it, and resolves once that was answered. Rejects with its loss. */
  renewNow(): Promise<void>;
  /** Makes the lease's record name it, and ends the lease when it ends. Never rejects. */
  adopt(lease: L): Promise<void>;
  /** A lease that it adopted has ended, in whatever way. */
  ended(lease: L): void;
  /** After a while goes on freeing a record that may name it and that nobody believes in, as long as it lives. */
  sweep(ref: RecordRef, from: Holders, keepData: boolean, afterMs?: number): void;
}

/** Where a lease finds what it can live by. */
export interface KeepAliveSource<L> {
  /** What a lease of this length moves to now; undefined: nothing, so the lease renews itself this time. */
  current(leaseMs: number): KeepAlive<L> | undefined;
  /**
   * Whether a lease of this kind is to live by it. Throws `invalid-argument` where it was named for
   * a lease that cannot.
   */
  accepts(context: ClientContext, leaseMs: number, renewMs: number | "manual"): boolean;
  /** Aborts once no lease may begin that is to live by it; undefined: one always may. */
  readonly over?: SignalLike;
  /** Why no lease may begin that is to live by it, by the clocks; undefined: one may. */
  refusal(): HoldfastError | undefined;
  /** A lease has begun that is to move to it. */
  begun(lease: L): void;
  /** That lease has ended, in whatever way. */
  ended(lease: L): void;
}

/** The options of a lease, and what keeps it alive. */
export interface KeptSettings<L> extends LeaseSettings {
  /** What keeps the lease alive instead of its own renewals. */
  readonly keptAliveBy?: KeepAliveSource<L> | undefined;
  /** What lets its grant pass a queue; undefined: it may not pass one. */
  readonly passage?: Passage | undefined;
  /** Called with what each renewal showed; must not throw. */
  readonly onRenewal?: ((record: HeldRecord | undefined) => void) | undefined;
}

/**
 * What one lease lives by: its own renewals, something that it shares with others, or, while nobody
 * has answered whether its record names that, both. Nobody can then tell which of the two a rival
 * watches, so the earlier deadline counts (R5).
 */
export class EffectiveDeadline<L> {
  #own: Deadline;
  #life: KeepAlive<L> | undefined;
  #isMoved = false;

  constructor(own: Deadline) {
    this.#own = own;
  }

  get deadline(): Deadline {
    if (this.#life === undefined) return this.#own;
    return this.#isMoved ? this.#life.deadline : this.#own.earlier(this.#life.deadline);
  }

  /** What the record names, or may come to name. */
  get life(): KeepAlive<L> | undefined {
    return this.#life;
  }

  /** Whether the record is known to name it, and is never renewed again. */
  get isMoved(): boolean {
    return this.#isMoved;
  }

  /** A renewal was answered: the one thing that moves the lease's own deadline. */
  renewed(own: Deadline): void {
    this.#own = own;
  }

  /** A write that sets another deadline is on its way. */
  mayBe(other: Deadline): void {
    this.#own = this.#own.earlier(other);
  }

  mayMoveTo(life: KeepAlive<L>): void {
    this.#life = life;
  }

  moved(): void {
    this.#isMoved = true;
  }
}
