import type { Ask, LeaseFormat } from "../core/record/format.js";
import { type Unavailable, unavailableError } from "../core/unavailable.js";
import { HoldfastError } from "../errors.js";
import { type Duration, durationMs } from "../internal/duration.js";
import type { Candidate } from "./candidate.js";

/** Options of {@link Election.requestResign}. */
export interface RequestResignOptions {
  /** For how long to wait until the leader has resigned. Default: as long as its own lease. */
  readonly wait?: Duration | undefined;
  /** Ends the wait, which then rejects with the signal's reason; what was asked stays asked. */
  readonly signal?: AbortSignal | undefined;
}

const WAIT_RANGE = { leastMs: 0, mostMs: 24 * 3_600_000 };

/** For how long to wait, in milliseconds; undefined where nothing was asked. Throws `invalid-argument`. */
export function resolveWait({ wait }: RequestResignOptions): number | undefined {
  return wait === undefined ? undefined : durationMs("wait", wait, WAIT_RANGE);
}

/** Throws `invalid-argument` for a format whose records cannot carry a request to a leader. */
export function assertAsks(format: LeaseFormat): void {
  if (format.ask === undefined) throw noRoom(format);
}

function noRoom({ name }: LeaseFormat): HoldfastError {
  return new HoldfastError(
    "invalid-argument",
    `Records of format "${name}" have no room for a request to resign, nor for a preference.`,
  );
}

/**
 * Sends one request to a leader, by one write that touches nothing that anybody lives by. Answers
 * whether it is in the record; `unanswered` tells nothing, and it can be sent again.
 */
export async function askOnce(
  { context, ref }: Candidate,
  holder: string,
  ask: Ask,
): Promise<"asked" | "gone" | Unavailable> {
  const write = context.format.ask?.(ref, holder, ask);
  if (write === undefined) throw noRoom(context.format);
  const answer = await context.write(write, context.settings.requestTimeoutMs, context.closing);
  if (answer.kind === "misconfigured") throw answer.error;
  if (answer.kind !== "applied" && answer.kind !== "refused") return answer;
  context.seeRecord(ref, answer.item, "strong");
  return answer.kind === "applied" ? "asked" : "gone";
}

/**
 * Asks whoever leads to resign, and waits until its term is over, for at most `waitMs`, or for as long
 * as the leader's own lease. Answers whether it is; also where nobody led.
 */
export async function askToResign(
  candidate: Candidate,
  waitMs: number | undefined,
  signal: AbortSignal | undefined,
): Promise<boolean> {
  const { context, settings, ref } = candidate;
  const first = await read(candidate);
  if (first.kind !== "holding") throw unavailableError(ref.name, "was not read", first);
  if (first.holder === undefined) return true;
  const untilMs = context.nowMs() + (waitMs ?? first.leaseMs);
  let trouble: Unavailable | undefined;
  for (let isAsked = false; ; ) {
    if (signal?.aborted === true) throw signal.reason;
    const now: Holding | Unavailable | "asked" | "gone" = isAsked
      ? await read(candidate)
      : await askOnce(candidate, first.holder, "resign");
    if (now === "gone" || (isHolding(now) && now.holder !== first.holder)) return true;
    isAsked ||= now === "asked";
    trouble = now === "asked" || isHolding(now) ? undefined : now;
    const leftMs = untilMs - context.nowMs();
    if (leftMs <= 0) break;
    await context.sleep(
      Math.min(context.jittered(settings.pollMs / LOOKS_PER_POLL), leftMs),
      signal,
    );
  }
  if (trouble === undefined) return false;
  throw unavailableError(ref.name, "could not be asked to resign", trouble);
}

// Whoever asks is a person, or a script, who waits for it.
const LOOKS_PER_POLL = 5;

function isHolding(answer: Holding | Unavailable | "asked" | "gone"): answer is Holding {
  return typeof answer === "object" && answer.kind === "holding";
}

interface Holding {
  readonly kind: "holding";
  readonly holder: string | undefined;
  readonly leaseMs: number;
}

async function read({ context, ref }: Candidate): Promise<Holding | Unavailable> {
  const query = { key: ref.key, consistent: true, attributes: context.format.pollAttributes };
  const answer = await context.read(query, context.settings.requestTimeoutMs);
  if (answer.kind === "misconfigured") throw answer.error;
  if (answer.kind !== "found") return answer;
  const record = context.seeRecord(ref, answer.item, "strong");
  return record.state === "held"
    ? { kind: "holding", holder: record.holder, leaseMs: record.leaseMs }
    : { kind: "holding", holder: undefined, leaseMs: 0 };
}
