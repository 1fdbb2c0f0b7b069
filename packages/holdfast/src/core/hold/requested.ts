import { HoldfastError } from "../../errors.js";
import { shown } from "../../internal/shown.js";
import type { RecordRef } from "../record/format.js";
import { type HeldRecord, hasQueue, pendingIn } from "../record/record.js";
import { phraseOf } from "../unavailable.js";

/** Who wants the lock of a holder. */
export interface WantedBy {
  /**
   * `interrupt`: the holder must stop. `announced`: a waiter asked to be known. `queue`: waiters are queued, in the table
   * or in this process, or a waiter has told so by a ring.
   */
  readonly kind: "interrupt" | "announced" | "queue";
  /** The label of the asker; undefined for a queue. */
  readonly by: string | undefined;
}

/** The hold that others ask. */
interface Asked {
  readonly ref: RecordRef;
  readonly localQueue: { readonly isWanted: boolean };
  readonly isHeld: boolean;
  /** Tells the holder to stop, and ends the renewals. */
  interrupted(reason: HoldfastError): void;
}

/**
 * What others have asked of one holder. An interrupted hold aborts its signal and renews no more, so that it ends with its
 * lease if its holder does not stop. A shielded hold is interrupted after the last shield.
 */
export class Requested {
  readonly #hold: Asked;
  #shields = 0;
  #wanted: WantedBy | undefined;
  #isInterrupted = false;
  readonly #listeners = new Set<(by: WantedBy) => void>();

  constructor(hold: Asked) {
    this.#hold = hold;
  }

  /** Whether the hold renews no more. */
  get isInterrupted(): boolean {
    return this.#isInterrupted;
  }

  /** Who wants the lock, by the last answer that showed the record, and by the waiters of this process. */
  get wanted(): WantedBy | undefined {
    return this.#wanted ?? (this.#hold.localQueue.isWanted ? QUEUED : undefined);
  }

  /** As {@link wanted}, without the waiters of this process. */
  get wantedByOthers(): WantedBy | undefined {
    return this.#wanted;
  }

  /** Notes what the holder's record shows. */
  see(record: HeldRecord): void {
    const by = wantedIn(record);
    const known = this.#wanted?.kind;
    if (by === undefined || by.kind === known) return;
    // An answer that is late or stale may show the weaker request before the one that is known.
    if (known === undefined || (known !== "interrupt" && by.kind !== "queue")) this.tell(by);
  }

  /** Notes who wants the lock, and interrupts the hold if it must stop. An ended hold tells nobody. */
  tell(by: WantedBy): void {
    this.#wanted = by;
    // A listener may release the lease: those after it are then not called.
    for (const listener of this.#listeners) if (this.#hold.isHeld) listener(by);
    this.#obey();
  }

  /** Notes that a waiter of another process has told this client that it waits, beside the table. */
  waited(): void {
    if (this.#wanted === undefined) this.tell(QUEUED);
  }

  /** Calls `listener` for each one that wants the lock. Returns a function that ends the calls. */
  onWanted(listener: (by: WantedBy) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  /** For the listener of an announcement: forgets it, so that the listeners are told of the next one, too. */
  forget(): void {
    this.#wanted = undefined;
  }

  /** Delays an interruption until {@link unshield}. */
  shield(): void {
    this.#shields += 1;
  }

  unshield(): void {
    this.#shields -= 1;
    this.#obey();
  }

  #obey(): void {
    if (this.#shields > 0 || this.#isInterrupted || this.#wanted?.kind !== "interrupt") return;
    if (!this.#hold.isHeld) return;
    this.#isInterrupted = true;
    this.#hold.interrupted(this.error());
  }

  /** The reason of the signal, and of a renewal that the holder asks for. */
  error(): HoldfastError {
    const { ref } = this.#hold;
    return new HoldfastError(
      "interrupted",
      `${shown(this.#wanted?.by ?? "another caller")} interrupted the holder of ${phraseOf(ref)}. The lease is ` +
        "renewed no more. Stop the protected work, and release.",
      { lockName: ref.name },
    );
  }
}

/** Who wants the lock of the record's holder, as the record shows it. */
export function wantedIn(
  record: Pick<HeldRecord, "holder" | "request" | "queue">,
): WantedBy | undefined {
  const asked = pendingIn(record);
  if (asked?.kind === "interrupt" || asked?.kind === "announced") return asked as WantedBy;
  return hasQueue(record) ? QUEUED : undefined;
}

const QUEUED: WantedBy = Object.freeze({ kind: "queue", by: undefined });
