import { HoldfastError } from "../../errors.js";
import { sleep } from "../../internal/sleep.js";
import { Abort, type SignalLike } from "../../platform/abort.js";
import type { ClientContext, OpenLease } from "../context.js";
import { freeOnce } from "./release.js";

const RETRY_MS = 100;

// A client's connections are limited: more at once would only wait in line, with their timeouts running.
const AT_ONCE = 256;

/** What was told to end by the closing, and may need what the client holds until it has. */
export interface Running {
  readonly ended: Promise<unknown>;
  /** Ends its lease in this process, and leaves the record to run out. */
  forsake(): void;
}

/** As {@link closeAll}, once what runs has ended, or the close timeout is over. */
export async function closeInOrder(
  context: ClientContext,
  running: ReadonlySet<Running>,
): Promise<void> {
  if (running.size === 0) return closeAll(context);
  const all = [...running];
  context.beginClosing();
  const bound = new Abort();
  const ended = Promise.all(all.map((one) => one.ended));
  await Promise.race([ended, sleep(context.timers, context.settings.closeTimeoutMs, true, bound)]);
  bound.abort();
  // Freed, it would be another's while the body still acts.
  for (const one of running) one.forsake();
  await closeAll(context);
}

/**
 * Ends everything that a client has: waiters, leases, and its work in the background. The leases are
 * released for at most the close timeout. Throws one error that lists each failure.
 */
export async function closeAll(context: ClientContext): Promise<void> {
  context.beginClosing();
  const holds = [...context.holds];
  for (const hold of holds) hold.end("closed");
  const errors = await freeAll(context, holds, context.drain());
  if (errors.length > 0) throw unreleased(errors, holds.length);
}

/**
 * Frees the records of leases that have ended here, 256 at a time, for at most the close timeout, and
 * waits as long for `besides`. Answers an error for each of which nobody told whether it is free.
 */
export async function freeAll(
  context: ClientContext,
  holds: readonly OpenLease[],
  besides: Promise<void> = Promise.resolve(),
): Promise<HoldfastError[]> {
  const bound = new Abort();
  const over = aborted(bound);
  const { closeTimeoutMs } = context.settings;
  const timeUp = sleep(context.timers, closeTimeoutMs, true, bound).then(() => undefined);
  const errors: HoldfastError[] = [];
  const left = holds.values();
  const freeInTurn = async (): Promise<void> => {
    for (const hold of left) {
      const error = await freeUntil(context, hold, bound, over);
      if (error !== undefined) errors.push(error);
    }
  };
  const freed = Promise.all(Array.from({ length: Math.min(AT_ONCE, holds.length) }, freeInTurn));
  try {
    await Promise.race([Promise.all([freed, besides]), timeUp]);
  } finally {
    bound.abort();
  }
  await freed;
  return errors;
}

/** Releases one lease; answers why it could not be told whether it is released. Never rejects. */
async function freeUntil(
  context: ClientContext,
  lease: OpenLease,
  bound: SignalLike,
  over: Promise<undefined>,
): Promise<HoldfastError | undefined> {
  const { ref, held, settings } = lease;
  let cause: unknown;
  while (!bound.aborted) {
    const freeing = lease.requests.run(() =>
      freeOnce(context, ref, { known: held }, settings.keepData),
    );
    const answer = await Promise.race([freeing, over]);
    if (answer === undefined) break;
    if (answer.kind === "applied" || answer.kind === "refused") return undefined;
    cause = answer.kind === "misconfigured" ? answer.error : answer.cause;
    if (answer.kind === "misconfigured") break;
    await sleep(context.timers, context.jittered(RETRY_MS), true, bound);
  }
  return new HoldfastError(
    "outcome-unknown",
    `Nobody answered whether lock "${ref.name}" was released. ` +
      "It is free, or will be when its lease has run out; there is nothing to do.",
    { lockName: ref.name, cause },
  );
}

function aborted(signal: SignalLike): Promise<undefined> {
  return new Promise((resolve) => {
    signal.addEventListener("abort", () => resolve(undefined));
  });
}

function unreleased(errors: readonly HoldfastError[], held: number): HoldfastError {
  const names = errors.map((error) => `"${error.lockName}"`);
  const shown = names.slice(0, 10).join(", ") + (names.length > 10 ? ", ..." : "");
  return new HoldfastError(
    "outcome-unknown",
    `The client is closed, but of ${errors.length} of its ${held} locks nobody answered whether they ` +
      `were released: ${shown}. They are free, or will be when their leases have run out.`,
    { errors, cause: errors[0]?.cause },
  );
}
