// What clocks and dates show of the true time. Each fact is here twice: what the rule measures, and what follows from it for the
// true time. `prove.mjs` shows that each follows, whatever the bound on the drift; the steps then need only what follows.
//
// Assumptions: no clock is wrong by more than its bound, and one of the holder's three clocks runs. Each server's
// clock is within half of the bound of the true time, and of two witnesses one is right.
//
// A witness is the `Date` of an answer: `asked`, when the request was sent; `shown`, when its answer came; `counted`, what the
// clock with the longest time counts since `asked`.

import { all, any, atMost, implies, larger, less, minus, plus, times } from "./terms.mjs";

const ERROR = times("0.5", "clockError");
/** A `Date` has whole seconds. */
const ROUNDING = "1000.0";

const isNotBehind = ({ date, asked }) => atMost(minus(asked, ERROR), plus(date, ROUNDING));
const isNotAhead = ({ date, shown }) => atMost(date, plus(shown, ERROR));

/** What follows, for the true time. */
export const FOLLOWS = {
  counts: ({ until, from, length }) =>
    implies(less("0.0", length), atMost(until, plus(from, length))),
  isWatched: ({ now, from, length }) =>
    implies(less("0.0", length), atMost(plus(from, length), now)),
  isBound: ({ now, bound }) => atMost(minus(now, ERROR), bound),
  isBeforeEnd: ({ until, end }) => atMost(until, plus(end, ERROR)),
  isPast: ({ now, end }) => atMost(plus(end, ERROR), now),
};

/** What the rules measure, with this bound on the drift, and with one rule `broken`. */
export function measuredWith(drift, broken) {
  const unless = (name, kept, instead) => (broken === name ? instead : kept);
  const slower = plus("1.0", times("2.0", drift));

  /** One clock that counts a span is not slow by more than its bound and one step. */
  const isCounted = (span, clock) =>
    atMost(minus(times(minus("1.0", drift), span), "bootStep"), clock);
  /** A clock is not fast by more than its bound. */
  const isWaited = (waited, span) =>
    all(atMost("0.0", waited), atMost(waited, times(plus("1.0", drift), span)));

  return {
    /** A deadline `until`, for a lease of this length that counts from `from`: holdMs of packages/holdfast/src/core/record/decide.ts (43). */
    counts({ until, from, length, clocks }) {
      const judges = unless("one clock alone", clocks, clocks.slice(0, 1));
      const margin = unless("no margin of the holder", minus("1.0", times("2.0", drift)), "1.0");
      const held = minus(
        times(length, margin),
        unless("no step of the boot clock", "bootStep", "0.0"),
      );
      return all(
        any(...clocks.map((clock) => isCounted(minus(until, from), clock))),
        ...judges.map((clock) => atMost(clock, held)),
      );
    },

    /** A watch of this length since `from`: watchMs of the same file (15, 40). */
    isWatched: ({ now, from, length, waited }) =>
      all(
        isWaited(waited, minus(now, from)),
        atMost(times(length, unless("a watch without the drift", slower, "1.0")), waited),
      ),

    /** An upper bound of the table's time now: the later of two witnesses (92). */
    isBound: ({ now, bound, witnesses }) =>
      all(
        any(...witnesses.map(isNotBehind)),
        ...witnesses.map(({ date, asked, counted }) =>
          all(
            atMost(asked, now),
            isCounted(minus(now, asked), counted),
            atMost(
              plus(
                date,
                unless("a Date is the exact time", ROUNDING, "0.0"),
                times(plus(counted, "bootStep"), slower),
              ),
              bound,
            ),
          ),
        ),
      ),

    /** A deadline not after the instant at which that bound reaches the end (94). */
    isBeforeEnd: ({ now, until, end, witnesses }) =>
      all(
        any(...witnesses.map(isNotBehind)),
        atMost(now, until),
        ...witnesses.map(({ date, asked, counted }) =>
          all(
            atMost(asked, now),
            isCounted(minus(until, asked), counted),
            atMost(plus(date, ROUNDING, times(plus(counted, "bootStep"), slower)), end),
          ),
        ),
      ),

    /** The table's time is past the end by the servers' error, as both witnesses show (91): dueByTable of the same file. */
    isPast({ now, end, witnesses, waits }) {
      const bound = unless("no bound on the servers' clocks", "clockError", "0.0");
      const judges = unless("one Date decides", witnesses, witnesses.slice(0, 1));
      return all(
        unless("the reader's wall clock decides", any(...witnesses.map(isNotAhead)), "true"),
        ...judges.map(({ date, shown }, index) =>
          all(
            isWaited(waits[index], minus(now, shown)),
            atMost(times(larger("0.0", minus(plus(end, bound), date)), slower), waits[index]),
          ),
        ),
      );
    },
  };
}
