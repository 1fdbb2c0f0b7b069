import { OutageWatch } from "../core/outage-watch.js";
import type { FormatTypes, NativeTypes } from "../core/record/format-types.js";
import type { LeaseRecord } from "../core/record/record.js";
import { unavailableError } from "../core/unavailable.js";
import { serialisable } from "../internal/printed.js";
import { unlessMisconfigured } from "../platform/retry.js";
import type { ReadAnswer } from "../platform/table.js";
import type { Candidate } from "./candidate.js";
import type { Term } from "./term.js";

/** The leader according to the record as last written; no proof that the leader still leads. */
export interface LeaderInfo<S extends FormatTypes = NativeTypes> {
  readonly name: string;
  /** The leader's label for people; undefined if no candidate leads. */
  readonly leader: string | undefined;
  /** The id of the leader's grant; undefined if no candidate leads. */
  readonly holder: string | undefined;
  /**
   * The fence of the current term, or of the last term if no candidate leads; undefined before the first term, and in a
   * format without fences.
   */
  readonly term: S["fence"] | undefined;
  /** When the term began, ISO, by the leader's clock; undefined in formats without this time. */
  readonly since: string | undefined;
  /** The value that the leader proclaimed. */
  readonly value: S["data"] | undefined;
}

/** Reads the leader from a record. */
function leadershipOf({ context, ref }: Candidate, record: LeaseRecord): LeaderInfo {
  const known = record.state === "absent" ? undefined : record;
  const held = record.state === "held" ? record : undefined;
  return serialisable({
    name: ref.name,
    leader: held?.owner,
    holder: held?.holder,
    term: !context.format.facts.recordsHaveFences ? undefined : known?.fence,
    since: held?.acquiredAt,
    value: held?.data as LeaderInfo["value"],
  });
}

/** Reads the leader by one strongly consistent read; without a table, checks this candidate alone. */
export async function leaderNow(candidate: Candidate, term: Term | undefined): Promise<LeaderInfo> {
  const { context, ref } = candidate;
  if (context.isUnlocked) return localLeadership(candidate, term);
  const answer = unlessMisconfigured(await read(candidate, true));
  if (answer.kind !== "found")
    throw unavailableError(ref.name, "was not read", answer, `Election "${ref.name}"`);
  return leadershipOf(candidate, context.seeRecord(ref, answer, "strong"));
}

/**
 * Yields the leader, at first and after every change of leader or proclaimed value.
 *
 * Polls the record, and retries while DynamoDB does not answer or refuses the credentials. Drops stale reads: never goes
 * back to a lower term nor, within a term, to an earlier value or a leader that has resigned. Without fences stale reads
 * cannot be recognised, so every read is strongly consistent.
 */
export async function* observe(
  candidate: Candidate,
  termNow: () => Term | undefined,
  signal: AbortSignal,
): AsyncGenerator<LeaderInfo> {
  const { context, settings } = candidate;
  const watch = new OutageWatch(context);
  let last: { readonly rank: Rank; readonly shown: string } | undefined;
  try {
    while (!signal.aborted) {
      const seen = context.isUnlocked
        ? { rank: NO_RANK, leadership: localLeadership(candidate, termNow()) }
        : await readLeader(candidate, signal, watch);
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
  } finally {
    watch.dispose();
  }
}

/** The term, whether the term is over, and the number of its last value: each only grows. */
type Rank = readonly [bigint, number, number];

const NO_RANK: Rank = Object.freeze([0n, 0, 0]);

function rankOf({ context }: Candidate, record: LeaseRecord): Rank {
  if (record.state === "absent" || !context.format.facts.recordsHaveFences) return NO_RANK;
  return record.state === "free" ? [record.fence, 1, 0] : [record.fence, 0, record.dataSeq];
}

function isBefore(a: Rank, b: Rank): boolean {
  if (a[0] !== b[0]) return a[0] < b[0];
  return a[1] !== b[1] ? a[1] < b[1] : a[2] < b[2];
}

async function readLeader(
  candidate: Candidate,
  signal: AbortSignal,
  watch: OutageWatch,
): Promise<{ readonly rank: Rank; readonly leadership: LeaderInfo } | undefined> {
  const { context, ref } = candidate;
  let strength: "eventual" | "strong" = context.format.facts.recordsHaveFences
    ? "eventual"
    : "strong";
  let answer = context.unlessLasting(await read(candidate, strength === "strong", signal), true);
  if (strength === "eventual" && answer.kind === "found" && answer.item === undefined) {
    // Only a strongly consistent read may conclude that there is no record.
    strength = "strong";
    answer = context.unlessLasting(await read(candidate, true, signal), true);
  }
  if (answer.kind !== "found") {
    if (!signal.aborted) watch.onNoResponse(answer);
    return undefined;
  }
  watch.onResponse();
  const record = context.seeRecord(ref, answer, strength);
  return { rank: rankOf(candidate, record), leadership: leadershipOf(candidate, record) };
}

function read(
  { context, ref }: Candidate,
  consistent: boolean,
  signal?: AbortSignal,
): Promise<ReadAnswer> {
  return context.read({ key: ref.key, consistent }, undefined, signal);
}

function localLeadership({ ref }: Candidate, term: Term | undefined): LeaderInfo {
  const led = term?.isLeading === true ? term : undefined;
  return serialisable({
    name: ref.name,
    leader: led?.owner,
    holder: led?.holder,
    term: led?.fence,
    since: undefined,
    value: led?.data as LeaderInfo["value"],
  });
}
