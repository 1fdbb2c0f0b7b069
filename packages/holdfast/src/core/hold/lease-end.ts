import { instantOf } from "../../platform/clock.js";
import type { ClientContext } from "../context.js";
import type { HeldRecord } from "../record/record.js";
import { Deadline } from "./deadline.js";

/**
 * The end of a lease in the table's time, as the writes of one grant set it. A renewal never sets an earlier end than
 * the record has. DynamoDB may apply a renewal late or twice: with an earlier end, such a copy would let a waiter take
 * over from a live holder (R5).
 */
export class LeaseEnd {
  readonly #context: Pick<ClientContext, "clock" | "tableClock">;
  /** The latest end that a write under this grant has set or may set. */
  #endMs: number | undefined;

  constructor(context: Pick<ClientContext, "clock" | "tableClock">, { endMs }: HeldRecord) {
    this.#context = context;
    this.#endMs = endMs;
  }

  /** The end for the next renewal. Undefined if the table's time is not known. */
  get endMs(): number | undefined {
    return this.#endMs;
  }

  /**
   * Notes the record after an acknowledged write. A write on condition of the exact version may have set an earlier
   * end, because DynamoDB cannot apply such a write late. `own` is the deadline by this machine's clocks. `isTooEarly`:
   * by the table's time much less of the lease is left than by this machine's clocks, or the `Date` of the answer was
   * ahead and the next answer must confirm it, so the holder should renew at once.
   */
  renewed(
    own: Deadline,
    record: HeldRecord,
    leaseMs: number,
  ): { readonly deadline: Deadline; readonly isTooEarly: boolean } {
    this.#endMs = record.endMs;
    const { clock, tableClock } = this.#context;
    const now = instantOf(clock);
    const lease = { leaseMs, leftMs: own.remainingMs(now) };
    const isTooEarly = !tableClock.isSound(this.#endMs, lease, Number.POSITIVE_INFINITY, now);
    return { deadline: this.limit(own, record), isTooEarly };
  }

  /** Notes the end that the record has or may have: the next renewal must not set an earlier end. */
  learn({ endMs }: Pick<HeldRecord, "endMs">): void {
    if (endMs !== undefined) this.#endMs = Math.max(endMs, this.#endMs ?? endMs);
  }

  /**
   * Returns the deadline, or the end in the record if it is earlier: a waiter takes over once the table's time is past
   * the end. The end is earlier if the clocks of this machine stood still before the send.
   */
  limit(deadline: Deadline, { endMs }: HeldRecord): Deadline {
    const { clock, tableClock } = this.#context;
    const span = endMs === undefined ? undefined : tableClock.spanUntil(endMs);
    if (span === undefined) return deadline;
    return deadline.earlier(new Deadline(clock, span.start, span.lengthMs));
  }
}
