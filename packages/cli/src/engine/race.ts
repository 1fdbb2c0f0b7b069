import {
  mayBeApplied,
  type TransactionAnswer,
  type Write,
  type WriteAnswer,
} from "holdfast/internal";
import { type EngineCheck, type EngineFinding, failed, passed } from "./finding.js";
import { holderIn, type Probe } from "./probe.js";

const CONTENDERS = 64;
const ROUNDS = 4;
const UNSAFE = "Two clients can hold one lock at the same time. Keep no locks on this engine.";

/** One write of a race. */
export interface Contender {
  /** The holder in the record if this write is applied; undefined for a delete. */
  readonly leaves: string | undefined;
  readonly answer: WriteAnswer | TransactionAnswer;
}

/** How a race ended: with one winner, with an error of the engine, or without a result. */
type Verdict = "won" | "undecided" | { readonly fault: string };

/**
 * Judges a race of writes of which at most one can be applied. `before` and `stored` are the holders in the record before
 * and after the race. Without an applied write, the race is undecided if an unanswered write may have been applied, or if
 * the engine refused a write for now. Pure.
 */
export function judgeRace(
  contenders: readonly Contender[],
  before: string | undefined,
  stored: string | undefined,
): Verdict {
  const winners = contenders.filter(({ answer }) => answer.kind === "applied");
  if (winners.length > 1) {
    return { fault: `${winners.length} of ${contenders.length} writes were applied, not one` };
  }
  const stale = contenders.find(({ answer }) => isStale(answer, stored));
  if (stale !== undefined) return { fault: "a refusal showed an item that no winner had written" };
  const [winner] = winners;
  if (winner !== undefined) {
    if (stored === winner.leaves) return "won";
    return { fault: "the stored item is not the winner's" };
  }
  const open = contenders.filter(({ answer }) => isOpen(answer));
  if (stored === before) {
    return open.length > 0
      ? "undecided"
      : { fault: "no write was applied, although one had to be" };
  }
  if (open.some(({ leaves }) => leaves === stored)) return "undecided";
  return { fault: "no applied or unanswered write explains the stored item, which has changed" };
}

/** Whether the item in a refusal is older than the item that is stored after the race. */
function isStale(answer: Contender["answer"], stored: string | undefined): boolean {
  if (stored === undefined || answer.kind !== "refused" || !("item" in answer)) return false;
  return answer.item !== undefined && holderIn(answer.item) !== stored;
}

/** Whether an answer leaves open if the write was applied, or refuses the write for now. */
function isOpen(answer: Contender["answer"]): boolean {
  return answer.kind !== "applied" && (answer.kind !== "refused" || mayBeApplied(answer));
}

/** Races claims of one absent record. */
export function raceClaims(probe: Probe): Promise<EngineFinding> {
  const what = `${CONTENDERS} claims of one absent record`;
  return rounds("claims", what, async (round) => {
    const ref = probe.record(`claim-${round}`);
    const claims = times(CONTENDERS, () => {
      const grant = probe.grant();
      return contend(probe, grant.holder, probe.claim(ref, grant));
    });
    const contenders = await Promise.all(claims);
    return judgeRace(contenders, undefined, holderIn(await probe.read(ref)));
  });
}

/** Races takeovers of one record in the version that all contenders read. */
export function raceTakeovers(probe: Probe): Promise<EngineFinding> {
  const what = `${CONTENDERS} takeovers of one record in one version`;
  return rounds("takeovers", what, async (round) => {
    const ref = probe.record(`takeover-${round}`);
    const item = await probe.claimed(ref);
    const takeovers = times(CONTENDERS, () => {
      const grant = probe.grant();
      return contend(probe, grant.holder, probe.takeOver(ref, grant, item));
    });
    const contenders = await Promise.all(takeovers);
    return judgeRace(contenders, holderIn(item), holderIn(await probe.read(ref)));
  });
}

/** Races deletes of one version of a record with takeovers of the same version. */
export function raceDeletes(probe: Probe): Promise<EngineFinding> {
  const what = `${CONTENDERS / 2} deletes and ${CONTENDERS / 2} takeovers of one version`;
  return rounds("deletes", what, async (round) => {
    const ref = probe.record(`delete-${round}`);
    const item = await probe.claimed(ref);
    const races = times(CONTENDERS / 2, () => {
      const grant = probe.grant();
      const takeOver = probe.takeOver(ref, grant, item);
      const remove = { ...takeOver, change: { set: {}, remove: [] }, as: "delete" } as const;
      return [contend(probe, grant.holder, takeOver), contend(probe, undefined, remove)];
    });
    const contenders = await Promise.all(races.flat());
    return judgeRace(contenders, holderIn(item), holderIn(await probe.read(ref)));
  });
}

/** Races transactions that each claim the same two absent records. */
export function raceMultiClaims(probe: Probe): Promise<EngineFinding> {
  const what = `${CONTENDERS} transactions that claim the same two absent records`;
  return rounds("multi-claims", what, async (round) => {
    const refs = [probe.record(`multi-${round}-a`), probe.record(`multi-${round}-b`)] as const;
    const claims = times(CONTENDERS, async () => {
      const grant = probe.grant();
      const writes = refs.map((ref) => probe.claim(ref, grant));
      const answer = await probe.transact({ writes, token: grant.holder });
      return { leaves: grant.holder, answer };
    });
    const contenders = await Promise.all(claims);
    const [one, other] = await Promise.all(
      refs.map(async (ref) => holderIn(await probe.read(ref))),
    );
    if (one !== other) return { fault: "a transaction was applied in part" };
    return judgeRace(contenders, undefined, one);
  });
}

async function contend(probe: Probe, leaves: string | undefined, write: Write): Promise<Contender> {
  return { leaves, answer: await probe.write(write) };
}

async function rounds(
  check: EngineCheck,
  what: string,
  race: (round: number) => Promise<Verdict>,
): Promise<EngineFinding> {
  let won = 0;
  for (let round = 1; round <= ROUNDS; round += 1) {
    const verdict = await race(round);
    if (typeof verdict === "object") {
      const message = `Of ${what} at once, in round ${round}: ${verdict.fault}.`;
      return failed(check, message, UNSAFE);
    }
    if (verdict === "won") won += 1;
  }
  if (won > 0) return passed(check, `${what} at once, ${won} times: one winner each time.`);
  return {
    check,
    level: "warning",
    message: `${what} at once, ${ROUNDS} times: the engine answered too few writes to show a winner.`,
    consequence: "Not checked. Run the check again while the engine has less load.",
  };
}

function times<T>(count: number, make: () => T): T[] {
  return Array.from({ length: count }, make);
}
