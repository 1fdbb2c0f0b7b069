import { spread } from "../core/backoff.js";
import type { OutageWatch } from "../core/outage-watch.js";
import { requireCapability } from "../core/record/capability.js";
import { unavailableError } from "../core/unavailable.js";
import type { HoldfastError } from "../errors.js";
import { type Duration, durationMs } from "../internal/duration.js";
import { checkNames, type OptionNames } from "../internal/option-names.js";
import { REQUESTS } from "../native/native-requests.js";
import { type Backoff, type NoAnswer, retry, unlessMisconfigured } from "../platform/retry.js";
import { isJudged } from "../platform/table.js";
import type { Candidate } from "./candidate.js";

/** Options of {@link Election.requestResign}. */
export interface RequestResignOptions {
  /** How long to wait for the leader's resignation. Default: the leader's own lease. */
  readonly wait?: Duration | undefined;
  /** Ends the wait, which then rejects with the signal's reason; the request remains. */
  readonly signal?: AbortSignal | undefined;
}

const RESIGN_NAMES: OptionNames<RequestResignOptions> = { wait: true, signal: true };
const WAIT_RANGE = { leastMs: 0, mostMs: 24 * 3_600_000 };

/** Converts the option `wait` to milliseconds, if it is set. Throws `invalid-argument`. */
export function resolveWait(options: RequestResignOptions): number | undefined {
  const { wait } = checkNames("requestResign()", options, RESIGN_NAMES);
  return wait === undefined ? undefined : durationMs("wait", wait, WAIT_RANGE);
}

/**
 * Sends one request to a leader. The write changes no attribute that other candidates watch.
 *
 * Answers `asked` if the record has this request, or a stronger request to the same leader. An unanswered write can be
 * retried.
 */
export async function askOnce(
  { context, ref }: Candidate,
  holder: string,
  kind: "prefer" | "resign",
): Promise<{ readonly kind: "asked" | "gone" } | NoAnswer> {
  const write = requireCapability(context.format, REQUESTS).ask(ref, { kind, holder });
  const answer = unlessMisconfigured(await context.write(write, undefined, context.closing));
  if (!isJudged(answer)) return answer;
  const record = context.seeRecord(ref, answer, "strong");
  const isAsked = record.state === "held" && record.holder === holder;
  return { kind: isAsked ? "asked" : "gone" };
}

/**
 * Asks the leader to resign, and waits until its term is over.
 *
 * Waits at most `waitMs`, by default as long as the leader's own lease. Answers whether the term is over; true if no
 * candidate led. `watch` tells of an outage meanwhile.
 */
export async function askToResign(
  candidate: Candidate,
  waitMs: number | undefined,
  signal: AbortSignal,
  watch: OutageWatch,
): Promise<boolean> {
  const { context, settings, ref } = candidate;
  const first = await read(candidate, signal);
  signal.throwIfAborted();
  if (first.kind !== "holding")
    throw unavailableError(ref.name, "was not read", first, `Election "${ref.name}"`);
  if (first.holder === undefined) return true;
  const leader = first.holder;
  const untilMs = context.nowMs() + (waitMs ?? first.leaseMs);
  const leftMs = (): number => untilMs - context.nowMs();
  const failed = (unanswered: NoAnswer, what: string): HoldfastError =>
    unavailableError(ref.name, what, unanswered, `The leader of "${ref.name}"`);
  const backoff: Backoff = (fraction) =>
    Math.min(spread(settings.pollMs / READS_PER_POLL, fraction), leftMs());
  let isUnsure = false;
  const asked = await retry(context, () => askOnce(candidate, leader, "resign"), {
    backoff,
    signal,
    onNoAnswer: (answer) => {
      isUnsure ||= answer.kind === "unknown";
      const how = isUnsure ? "may not have been" : "could not be";
      if (leftMs() <= 0) throw failed(answer, `${how} asked to resign`);
      watch.onNoResponse(answer);
    },
  });
  if (asked.kind !== "answered") throw signal.reason;
  if (asked.answer.kind === "gone") return true;
  watch.onResponse();
  // The request is acknowledged, so poll. After an unanswered read, read again.
  let unanswered: NoAnswer | undefined;
  while (leftMs() > 0) {
    await context.sleep(backoff(context.random.fraction()), signal);
    signal.throwIfAborted();
    const now = await read(candidate, signal);
    if (now.kind === "holding" && now.holder !== leader) return true;
    unanswered = now.kind === "holding" ? undefined : now;
    if (unanswered === undefined) watch.onResponse();
    else watch.onNoResponse(unanswered);
  }
  if (unanswered === undefined) return false;
  throw failed(unanswered, "was asked to resign, but was not read since");
}

// A person or a script waits for the answer.
const READS_PER_POLL = 5;

interface Holding {
  readonly kind: "holding";
  readonly holder: string | undefined;
  readonly leaseMs: number;
}

async function read({ context, ref }: Candidate, signal: AbortSignal): Promise<Holding | NoAnswer> {
  const query = { key: ref.key, consistent: true, attributes: context.format.codec.pollAttributes };
  const answer = unlessMisconfigured(await context.read(query, undefined, signal));
  if (answer.kind !== "found") return answer;
  const record = context.seeRecord(ref, answer, "strong");
  return record.state === "held"
    ? { kind: "holding", holder: record.holder, leaseMs: record.leaseMs }
    : { kind: "holding", holder: undefined, leaseMs: 0 };
}
