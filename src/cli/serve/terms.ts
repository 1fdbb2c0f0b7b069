import type { Survey } from "../../admin/index.js";
import { epochMsOf } from "../../platform/clock.js";
import type { Term } from "./view-types.js";

/** The terms of leaders, from readings of the records and from the notes of their grants. Pure. */

const MOST_TERMS = 1_000;

/**
 * Adds the terms that a survey shows to the terms of earlier readings, earliest first.
 *
 * Ends a term that the survey no longer shows. The end of a term that no reading showed is open: at the latest it is
 * the beginning of the next known term of the election.
 */
export function termsAfter(earlier: readonly Term[], survey: Survey, nowMs: number): Term[] {
  const noted = notedTerms(survey, nowMs);
  const lasting = lastingTerms(survey, nowMs);
  const on = new Set(lasting.map(keyOf));
  const seen = earlier.map((term) =>
    term.state !== "on" || on.has(keyOf(term))
      ? term
      : ({ ...term, state: "ended", toMs: nowMs } as const),
  );
  // A later entry of a term replaces an earlier entry.
  const terms = new Map([...noted, ...seen, ...lasting].map((term) => [keyOf(term), term]));
  return withOpenEnds([...terms.values()])
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

/** Moves the latest possible end of each noted term back to the beginning of the next term. */
function withOpenEnds(terms: readonly Term[]): Term[] {
  const sorted = terms.toSorted((a, b) =>
    a.name === b.name ? Number(BigInt(a.fence) - BigInt(b.fence)) : a.name < b.name ? -1 : 1,
  );
  return sorted.map((term, at) => {
    const next = sorted[at + 1];
    if (term.state !== "noted" || next?.name !== term.name) return term;
    return { ...term, toMs: Math.max(term.fromMs, Math.min(term.toMs ?? 0, next.fromMs)) };
  });
}
