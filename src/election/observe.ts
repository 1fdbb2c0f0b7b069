import type { FormatTypes, NativeTypes } from "../core/record/format-types.js";
import type { LeaseRecord } from "../core/record/record.js";
import { unavailableError } from "../core/unavailable.js";
import type { ReadAnswer } from "../platform/table.js";
import type { Candidate } from "./candidate.js";
import type { Term } from "./term.js";

/** Who leads, as the record says: the last one written, and no proof that it is so now. */
export interface LeaderInfo<S extends FormatTypes = NativeTypes> {
  readonly name: string;
  /** The leader's label for people; undefined where nobody leads. */
  readonly leader: string | undefined;
  /** The id of the leader's grant; undefined where nobody leads. */
  readonly holder: string | undefined;
  /**
   * The fence of the term, or of the last one where nobody leads; undefined where there was none, and in a
   * format whose grants are not numbered.
   */
  readonly term: S["fence"] | undefined;
  /** When the term began, ISO, by that leader's clock; undefined in formats that do not say. */
  readonly since: string | undefined;
  /** What the leader proclaimed. */
  readonly value: S["data"] | undefined;
}

/** What a record says of who leads. */
function leadershipOf({ context, ref }: Candidate, record: LeaseRecord): LeaderInfo {
  const known = record.state === "absent" ? undefined : record;
  const held = record.state === "held" ? record : undefined;
  return {
    name: ref.name,
    leader: held?.owner,
    holder: held?.holder,
    term: context.format.isFenced === false ? undefined : known?.fence,
    since: held?.acquiredAt,
    value: held?.data as LeaderInfo["value"],
  };
}

/** Who leads, by one strongly consistent read; without a table, this very candidate or nobody. */
export async function leaderNow(candidate: Candidate, term: Term | undefined): Promise<LeaderInfo> {
  const { context, ref } = candidate;
  if (context.isLocal) return localLeadership(candidate, term);
  const answer = await read(candidate, true);
  if (answer.kind === "misconfigured") throw answer.error;
  if (answer.kind !== "found") throw unavailableError(ref.name, "was not read", answer);
  return leadershipOf(candidate, context.seeRecord(ref, answer.item, "strong"));
}

/**
 * Yields who leads, at first and whenever that, or the proclaimed value, is seen to have changed; reads a
 * poll apart, and goes on where nobody answers. What comes from the past is dropped: it never goes back
 * to a lower term, nor, within one, to an earlier value or to a leader that has resigned. Where terms are
 * not numbered the past cannot be told: every read is then strongly consistent.
 */
export async function* observe(
  candidate: Candidate,
  termNow: () => Term | undefined,
  signal: AbortSignal,
): AsyncGenerator<LeaderInfo> {
  const { context, settings } = candidate;
  let last: { readonly rank: Rank; readonly shown: string } | undefined;
  while (!signal.aborted) {
    const seen = context.isLocal
      ? { rank: NO_RANK, leadership: localLeadership(candidate, termNow()) }
      : await look(candidate, signal);
    if (seen !== undefined && !(last !== undefined && isBefore(seen.rank, last.rank))) {
      const { holder, term, value } = seen.leadership;
      const shown = JSON.stringify([holder, String(term), value]);
      const isNew = shown !== last?.shown;
      last = { rank: seen.rank, shown };
      if (isNew) yield seen.leadership;
    }
    const part = 0.75 + 0.25 * context.random.fraction();
    await context.sleep(settings.pollMs * part, signal);
  }
}

/** The term, whether it is over, and the number of its last value: each only grows. */
type Rank = readonly [bigint, number, number];

const NO_RANK: Rank = Object.freeze([0n, 0, 0]);

function rankOf({ context }: Candidate, record: LeaseRecord): Rank {
  if (record.state === "absent" || context.format.isFenced === false) return NO_RANK;
  return record.state === "free" ? [record.fence, 1, 0] : [record.fence, 0, record.dataSeq];
}

function isBefore(a: Rank, b: Rank): boolean {
  if (a[0] !== b[0]) return a[0] < b[0];
  return a[1] !== b[1] ? a[1] < b[1] : a[2] < b[2];
}

async function look(
  candidate: Candidate,
  signal: AbortSignal,
): Promise<{ readonly rank: Rank; readonly leadership: LeaderInfo } | undefined> {
  const { context, ref } = candidate;
  let strength: "eventual" | "strong" = context.format.isFenced === false ? "strong" : "eventual";
  let answer = await read(candidate, strength === "strong", signal);
  if (strength === "eventual" && answer.kind === "found" && answer.item === undefined) {
    // Absence is only concluded from a strongly consistent read.
    strength = "strong";
    answer = await read(candidate, true, signal);
  }
  if (answer.kind === "misconfigured") throw answer.error;
  if (answer.kind !== "found") return undefined;
  const record = context.seeRecord(ref, answer.item, strength);
  return { rank: rankOf(candidate, record), leadership: leadershipOf(candidate, record) };
}

function read(
  { context, ref }: Candidate,
  consistent: boolean,
  signal?: AbortSignal,
): Promise<ReadAnswer> {
  return context.read({ key: ref.key, consistent }, context.settings.requestTimeoutMs, signal);
}

function localLeadership({ ref }: Candidate, term: Term | undefined): LeaderInfo {
  const led = term?.isLeading === true ? term : undefined;
  return {
    name: ref.name,
    leader: led?.owner,
    holder: led?.holder,
    term: led?.fence,
    since: undefined,
    value: led?.value,
  };
}
