import type { Survey } from "holdfast/admin";
import { epochMsOf } from "holdfast/internal";
import type { Term } from "./view-types.js";

/** The terms of leaders, from readings of the records and from the notes of their grants. Pure. */

const MOST_TERMS = 1_000;

/**
 * Adds the terms that a survey shows to the terms of earlier readings, earliest first.
 *
 * Ends a term that the survey no longer shows; `isGap`: the reading before is too long ago to show when. A term ends at
 * the latest when the next known term of its election begins, and begins at the earliest when the term before it began.
 */
export function termsAfter(
  earlier: readonly Term[],
  survey: Survey,
  nowMs: number,
  isGap = false,
): Term[] {
  const noted = notedTerms(survey, nowMs);
  const lasting = lastingTerms(survey, nowMs);
  const on = new Set(lasting.map(keyOf));
  const seen = earlier.map((term) =>
    term.state !== "on" || on.has(keyOf(term))
      ? term
      : ({ ...term, state: isGap ? "noted" : "ended", toMs: nowMs } as const),
  );
  // A later entry of a term replaces an earlier entry.
  const terms = new Map([...noted, ...seen, ...lasting].map((term) => [keyOf(term), term]));
  return inTurn([...terms.values()])
    .sort((a, b) => a.fromMs - b.fromMs)
    .slice(-MOST_TERMS);
}

function keyOf({ name, fence }: Term): string {
  return `${fence} ${name}`;
}

function lastingTerms({ locks }: Survey, nowMs: number): Term[] {
  return locks.flatMap(({ kind, lock: { name, state, fence, owner = "", acquiredAt } }) =>
    kind === "leader" && state === "held"
      ? [{ name, fence: String(fence), owner, fromMs: startOf(acquiredAt, nowMs), state: "on" }]
      : [],
  );
}

/** The terms without an end: of notes, and the last term of a record that is free now. */
function notedTerms({ locks, terms }: Survey, nowMs: number): Term[] {
  const past = locks.flatMap(({ kind, lock: { name, state, fence, owner = "", acquiredAt } }) =>
    kind === "leader" && state === "free" && acquiredAt !== undefined && fence !== undefined
      ? [{ name, fence, owner, at: acquiredAt }]
      : [],
  );
  return [...terms.map(({ name, grant }) => ({ ...grant, name })), ...past].map(
    ({ name, fence, owner, at }) => ({
      ...{ name, owner, fence: fence.toString(), fromMs: startOf(at, nowMs) },
      ...{ state: "noted", toMs: nowMs },
    }),
  );
}

function startOf(at: string | undefined, nowMs: number): number {
  return Math.min(nowMs, epochMsOf(at) ?? nowMs);
}

/** Makes the terms of each election follow one another, in the order of their fences: each begins by another clock. */
function inTurn(terms: readonly Term[]): Term[] {
  const sorted = terms.toSorted((a, b) =>
    a.name === b.name ? (BigInt(a.fence) < BigInt(b.fence) ? -1 : 1) : a.name < b.name ? -1 : 1,
  );
  let startMs = 0;
  const begun = sorted.map((term, at) => {
    startMs = sorted[at - 1]?.name === term.name ? Math.max(startMs, term.fromMs) : term.fromMs;
    return { ...term, fromMs: startMs };
  });
  return begun.map((term, at): Term => {
    const next = begun[at + 1];
    const { toMs = Number.POSITIVE_INFINITY } = term;
    if (next?.name !== term.name || toMs <= next.fromMs) return term;
    return { ...term, state: term.state === "on" ? "noted" : term.state, toMs: next.fromMs };
  });
}
