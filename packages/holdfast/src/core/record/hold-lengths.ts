import type { AbsentRecord, FreeRecord, HeldRecord } from "./record.js";

// A longer hold raises the estimate at once, and each shorter hold lowers the estimate by at most half. So an estimate
// that is too low costs extra reads during one hold only.
const DECAY = 0.5;
// A paused waiter can make one hold of its queue look long. So a longer hold raises the estimate of a queue by a tenth
// of the difference only: otherwise the other waiters would pause for too long between polls.
const SLOW_DECAY = 0.9;

// More grants than a table serves between two polls: then one grant has reserved a block of fences.
const MOST_HOLDS = 4_096;

/** The part of a record that distinguishes one hold from the next. */
type HoldState =
  | AbsentRecord
  | Pick<FreeRecord, "state" | "fence">
  | Pick<HeldRecord, "state" | "fence" | "holder">;

/** What a waiter knows about the holds of a lock. */
export interface HoldsSeen {
  /** How long a hold lasts, as learned from earlier holds. Undefined: not known yet. */
  readonly usualMs: number | undefined;
  /** How long this client has seen the present holder. */
  readonly presentMs: number;
}

/** Learns how long the holds of one record last, from the changes that a client sees. */
export class HoldLengths {
  #fence: bigint | undefined;
  #holder: string | undefined;
  /**
   * When this client saw the present state begin. Undefined for the first state, which began before the client saw it.
   */
  #sinceMs: number | undefined;
  #firstMs: number | undefined;
  #usualMs: number | undefined;

  /** How long a hold lasts. Undefined until this client has seen the beginning and the end of a hold. */
  get usualMs(): number | undefined {
    return this.#usualMs;
  }

  /** How long this client has seen the present holder, or 0 if the record is not held. */
  presentMs(nowMs: number): number {
    if (this.#holder === undefined) return 0;
    return nowMs - (this.#sinceMs ?? this.#firstMs ?? nowMs);
  }

  /** Notes a record from an answer. Most grants raise the fence by one, so the difference counts the holds. */
  see(record: HoldState, nowMs: number): void {
    const fence = record.state === "absent" ? undefined : record.fence;
    const holder = record.state === "held" ? record.holder : undefined;
    if (this.#firstMs === undefined) this.#firstMs = nowMs;
    else if (fence === this.#fence && holder === this.#holder) return;
    else {
      this.#endAt(fence, nowMs);
      this.#sinceMs = nowMs;
    }
    this.#fence = fence;
    this.#holder = holder;
  }

  /** Notes that the queue moved on: `holds` holds took `tookMs` together, and another hold has just begun. */
  turned(holds: number, tookMs: number, nowMs: number): void {
    const lengthMs = tookMs / holds;
    const knownMs = this.#usualMs ?? lengthMs;
    const weight = (lengthMs < knownMs ? DECAY : SLOW_DECAY) ** holds;
    this.#usualMs = weight * knownMs + (1 - weight) * lengthMs;
    this.#sinceMs = nowMs;
    // The queue does not show the new hold's fence and holder. An undefined fence keeps the next record from counting
    // as the end of this hold; an empty holder means held.
    this.#fence = undefined;
    this.#holder = "";
  }

  // Skips a hold whose beginning this client did not see: the measured length would be too short, and the client would
  // read too often.
  #endAt(fence: bigint | undefined, nowMs: number): void {
    if (this.#holder === undefined || this.#sinceMs === undefined) return;
    if (fence === undefined || this.#fence === undefined) return;
    const raised = Number(fence - this.#fence);
    const holds = raised > 0 && raised < MOST_HOLDS ? raised : 1;
    const lengthMs = (nowMs - this.#sinceMs) / holds;
    this.#usualMs = Math.max(lengthMs, (this.#usualMs ?? 0) * DECAY ** holds);
  }
}
