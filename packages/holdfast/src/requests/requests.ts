import type { Hold } from "../core/hold/hold.js";
import { checkFunction, handleOf, type Lease, untilEnd } from "../core/hold/lease.js";
import { type WantedBy, wantedIn } from "../core/hold/requested.js";
import { tellOfRefusal } from "../core/outage-watch.js";
import { requireCapability } from "../core/record/capability.js";
import type { FormatTypes } from "../core/record/format-types.js";
import { HoldfastError } from "../errors.js";
import { causeText } from "../internal/cause-text.js";
import { type Duration, durationMs } from "../internal/duration.js";
import { tell } from "../internal/tell.js";
import { REQUESTS } from "../native/native-requests.js";
import type { Timer } from "../platform/timers.js";

const LISTEN_RANGE = { leastMs: 100, mostMs: 24 * 3_600_000 };

/**
 * Returns who wants the lock of a lease, as the last answer about its record showed it, and undefined if no one does: a
 * caller that interrupts, a waiter of a mutex with `ifHeld: announce`, the waiters of a queue, or a waiter of this
 * process. The answer is as old as the last renewal, or as the last read of {@link listen}; on a session no renewal reads
 * the record, so that only requests and waiters of this process show. Waiters that only poll do not show. Sends no request.
 * Throws `invalid-argument`.
 */
export function wanted(lease: Lease<FormatTypes>): WantedBy | undefined {
  const { holds } = handleOf("wanted()", lease);
  const found = holds.map((hold) => hold.requested.wanted ?? seenBy(hold));
  return found.find((by) => by?.kind === "interrupt") ?? found.find((by) => by !== undefined);
}

/**
 * By the last answer that this client has noted: that of the grant comes before there is a hold that could hear it. Not of an
 * interruption, whose holder is told first.
 */
function seenBy({ context, ref, held }: Hold): WantedBy | undefined {
  const record = context.observations.held(ref.id);
  const by = record?.holder === held.holder && wantedIn(record);
  return by && by.kind !== "interrupt" ? by : undefined;
}

/**
 * Calls `listener` when an answer first shows that someone wants the lock, and again for a stronger wish: see
 * {@link wanted}. Not for a waiter of this process. An error of the listener goes to the client's `onError`. Returns a
 * function that ends the calls. Sends no request. Throws `invalid-argument`.
 */
export function onWanted(lease: Lease<FormatTypes>, listener: (by: WantedBy) => void): () => void {
  const { holds } = handleOf("onWanted()", lease);
  checkFunction("onWanted()", listener);
  const ends = holds.map((hold) =>
    hold.requested.onWanted((by) => {
      tell(listener, by, (cause) => {
        const message = `The listener of onWanted() threw an error${causeText(cause)}.`;
        const { name: lockName } = hold.ref;
        hold.context.report(new HoldfastError("outcome-unknown", message, { lockName, cause }));
      });
    }),
  );
  return () => {
    for (const end of ends) end();
  };
}

/**
 * Runs a section that must not be cut off: an interruption waits until the section ends, and the lease is renewed until
 * then. Sections may nest and overlap. The lease can still be lost. Resolves and rejects as the section does. Sends no
 * request. Throws `invalid-argument`, `lost`, and `interrupted` if the holder is interrupted already.
 */
export async function shield<T>(
  lease: Lease<FormatTypes>,
  section: () => T | PromiseLike<T>,
): Promise<T> {
  const { holds } = handleOf("shield()", lease);
  checkFunction("shield()", section);
  lease.assertHeld();
  const late = holds.find(({ requested }) => requested.isInterrupted);
  if (late !== undefined) throw late.requested.error();
  for (const { requested } of holds) requested.shield();
  try {
    return await section();
  } finally {
    for (const { requested } of holds) requested.unshield();
  }
}

/**
 * Reads the lock's record every `every`, until the lease ends or is released, so that a request reaches the holder sooner
 * than its next renewal. Costs half a read unit for each lock and read; for a permit half a unit for each 4 KB of the
 * semaphore's record, which shows the queue. No read renews the lease, or ends it. A read without an answer is not repeated
 * before the next; `onError` is told once if DynamoDB refuses the credentials. Returns a function that ends the reads.
 * `every`: at least 100 ms. Needs native records. Throws `invalid-argument`, and `lost`.
 */
export function listen(lease: Lease<FormatTypes>, every: Duration): () => void {
  const handle = handleOf("listen()", lease);
  const everyMs = durationMs("every", every, LISTEN_RANGE);
  for (const { context } of handle.holds) requireCapability(context.format, REQUESTS, "listen()");
  lease.assertHeld();
  const ears = handle.holds.map((hold) => new Ear(hold, everyMs));
  return untilEnd(handle, () => {
    for (const ear of ears) ear.stop();
  });
}

class Ear {
  readonly #hold: Hold;
  readonly #everyMs: number;
  #timer: Timer | undefined;
  #isOver = false;

  constructor(hold: Hold, everyMs: number) {
    this.#hold = hold;
    this.#everyMs = everyMs;
    this.#wait();
  }

  stop(): void {
    this.#isOver = true;
    this.#timer?.cancel();
  }

  #wait(): void {
    const { context } = this.#hold;
    this.#timer = context.timers.set(this.#everyMs, false, () =>
      context.inBackground(async () => {
        await this.#read();
        if (!this.#isOver) this.#wait();
      }),
    );
  }

  async #read(): Promise<void> {
    const { context, ref } = this.#hold;
    if (!this.#hold.isHeld || this.#hold.requested.isInterrupted) return this.stop();
    const { codec } = context.format;
    // A permit is an attribute of its own.
    const attributes = ref.permit === undefined ? { attributes: codec.pollAttributes } : {};
    const read = { key: ref.key, consistent: false, ...attributes };
    const timeoutMs = context.timeoutWithin(this.#hold.remainingMs());
    const answer = context.healing(await context.read(read, timeoutMs));
    if (answer.kind === "denied") tellOfRefusal(context, answer);
    if (answer.kind !== "found") return;
    // A stale answer may lack the request, or name an earlier holder. It decides nothing else.
    const found = codec.read(answer.item, ref);
    // The use may have ended, and the grant been kept, while the read was in flight.
    if (found.state === "held") this.#hold.latest.hear(found);
  }
}
