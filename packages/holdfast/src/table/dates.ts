import { type Clock, epochMsOf } from "../platform/clock.js";
import { type Finding, ok } from "./finding.js";

// The header has whole seconds, and synchronised clocks differ by less.
const SKEW_MS = 5_000;
// A `Date` has whole seconds.
const DATE_STEP_MS = 1_000;
// After two steps a clock that moves shows another `Date`.
const STILL_MS = 2 * DATE_STEP_MS;
// A timer may fire a little early by another clock, and the pause would then be too short to show anything.
const EARLY_MS = 20;

/** One answer, with the instants of request and answer on the monotonic clock. */
interface DatedAnswer {
  readonly dateMs: number;
  readonly sentMs: number;
  readonly cameMs: number;
}

/**
 * The `Date`s of the answers to a diagnosis. Compares them with this machine's clock, and with each other: the end of a
 * lease is in the time of these `Date`s, so nothing between the table and its clients may cache or change them.
 */
export class Dates {
  readonly #clock: Pick<Clock, "wallMs" | "monotonicMs">;
  readonly #aheadMs: number[] = [];
  readonly #answers: DatedAnswer[] = [];
  #undated = 0;
  #sent = { wallMs: 0, monotonicMs: 0 };

  constructor(clock: Pick<Clock, "wallMs" | "monotonicMs">) {
    this.#clock = clock;
  }

  /** Notes that a request is sent now. */
  sending(): void {
    this.#sent = { wallMs: this.#clock.wallMs(), monotonicMs: this.#clock.monotonicMs() };
  }

  /** Notes the `Date` of the answer to the request that was sent last. */
  see(date: string | undefined): void {
    this.seeMs(epochMsOf(date));
  }

  /** As {@link Dates.see}, in milliseconds since 1970. */
  seeMs(dateMs: number | undefined): void {
    if (dateMs === undefined) {
      this.#undated += 1;
      return;
    }
    const cameMs = this.#clock.monotonicMs();
    this.#answers.push({ dateMs, sentMs: this.#sent.monotonicMs, cameMs });
    // The header was cut to a second, and made at some instant between sending and now.
    const leastMs = dateMs - this.#clock.wallMs();
    const mostMs = dateMs + DATE_STEP_MS - this.#sent.wallMs;
    this.#aheadMs.push(leastMs > 0 ? leastMs : Math.min(0, mostMs));
  }

  /** How long to pause before one further answer, so that it shows whether the `Date` moves. */
  get pauseMs(): number {
    const [first] = this.#answers;
    if (first === undefined || !this.#isStill) return 0;
    const passedMs = this.#clock.monotonicMs() - first.cameMs;
    return passedMs >= STILL_MS ? 0 : STILL_MS + EARLY_MS - passedMs;
  }

  /** The findings about this machine's clock, and about the `Date`s themselves. */
  findings(): Finding[] {
    // Without an answer there is nothing to say about it.
    if (this.#answers.length === 0) return this.#undated > 0 ? [noDates()] : [];
    return [this.#clockFinding(), this.#dateFinding()];
  }

  // By how much the two clocks differ at least, as far as all answers say.
  #clockFinding(): Finding {
    const aheadMs = this.#aheadMs.reduce((a, b) => (Math.abs(a) < Math.abs(b) ? a : b));
    if (Math.abs(aheadMs) <= SKEW_MS) {
      return ok("clock", "This machine's clock agrees with the table's.");
    }
    const way = aheadMs > 0 ? "behind" : "ahead of";
    return {
      ...ok(
        "clock",
        `This machine's clock is at least ${Math.floor(Math.abs(aheadMs) / 1000)} s ${way} the table's. Leases do not ` +
          "depend on this machine's clock, but displayed times and the first fence of a lock do. At a difference of " +
          "15 minutes signatures fail until the SDK has corrected itself.",
      ),
      level: "warning",
      fix: "Synchronise the clock (NTP).",
    };
  }

  #dateFinding(): Finding {
    if (this.#undated > 0) return noDates();
    const awayMs = Math.max(...this.#answers.map((answer) => awayFrom(this.#first, answer)));
    if (awayMs > SKEW_MS) {
      const awayS = Math.ceil(awayMs / 1000);
      const message = `Between two answers of the table, the \`Date\` moved ${awayS} s more or less than this machine's clock.`;
      return problem(message);
    }
    const spanMs = (this.#answers.at(-1) ?? this.#first).sentMs - this.#first.cameMs;
    if (this.#isStill && spanMs >= STILL_MS) {
      return problem(
        `The \`Date\` of the table's answers has stood still for ${(spanMs / 1000).toFixed(1)} s.`,
      );
    }
    return ok("date", "The `Date`s of the table's answers follow the time.");
  }

  get #isStill(): boolean {
    return this.#answers.every(({ dateMs }) => dateMs === this.#first.dateMs);
  }

  get #first(): DatedAnswer {
    return this.#answers[0] as DatedAnswer;
  }
}

/** How far two `Date`s are certainly from the time between their answers, in milliseconds. */
function awayFrom(first: DatedAnswer, second: DatedAnswer): number {
  const dateMs = second.dateMs - first.dateMs;
  const tooLittleMs = second.sentMs - first.cameMs - (dateMs + DATE_STEP_MS);
  const tooMuchMs = dateMs - DATE_STEP_MS - (second.cameMs - first.sentMs);
  return Math.max(0, tooLittleMs, tooMuchMs);
}

function problem(message: string): Finding {
  return {
    ...ok("date", message),
    level: "problem",
    fix:
      "Find the proxy that caches or changes the `Date`, and let it pass the header on. Until then, set " +
      '`maxClockError: "never"` in every client of the table: then no client takes over by a `Date`.',
    code: "misconfigured",
  };
}

// A function, so that a program that does not diagnose has no part of it.
const noDates = (): Finding => ({
  ...ok(
    "date",
    "The table's answers have no `Date`, so this client writes no end of its leases. Other processes must watch a dead " +
      "holder for a whole lease before they take over.",
  ),
  level: "warning",
  fix: "Use a client of the AWS SDK v3 as it is, and let every proxy pass the `Date` header on.",
});
