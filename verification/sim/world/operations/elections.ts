import { election } from "../../../../packages/holdfast/src/election/index.js";
import {
  isHoldfastError,
  type Lease,
  lossSignal,
} from "../../../../packages/holdfast/src/index.js";
import type { SeededRandom } from "../../../../packages/testing/src/time/seeded-random.js";
import type { Incarnation } from "../../incarnation.js";
import { codeOf, expectPatience, hold, limited, noteReleased } from "./holding.js";

/** Names of leaderships are their record's keys, unlike names of locks. */
export const LEADER = "leader#a";
const NAME = "a";
const LONGEST_CAMPAIGN_MS = 20_000;

/** Stands by for a while, and leads for one term or more; the term's work takes a while to end. */
export async function stand(self: Incarnation, random: SeededRandom): Promise<void> {
  const [leaseMs] = self.run.plan.leaseMs;
  const candidate = election(self.locks, NAME, {
    lease: leaseMs,
    preferred: random.chance(0.2),
  });
  const limitMs = random.fraction() * Math.min(8 * leaseMs, LONGEST_CAMPAIGN_MS);
  self.asked();
  const again = random.chance(0.5);
  let hasLed = false;
  const code = await limited(self, limitMs, (signal) =>
    self.silence.watch("stood by", { signal }, () =>
      candidate.lead({ signal, again }, async (term) => {
        hasLed = true;
        self.silence.waits(false);
        await lead(self, random, term);
        self.silence.waits(true);
      }),
    ),
  ).catch(codeOf);
  // The release of a term may be refused.
  const endless = { wait: Number.POSITIVE_INFINITY, fromMs: 0 };
  if (!hasLed && typeof code === "string") expectPatience(self, code, "stood by", endless);
}

async function lead(self: Incarnation, random: SeededRandom, term: Lease): Promise<void> {
  const { fence, holder } = term;
  const loss = lossSignal(term);
  const grant = {
    parts: [{ name: LEADER, fence, holder }],
    // The work continues for a moment after the term's signal, and the term is not released before.
    isHeld: () => !loss.aborted && term.remainingMs() > 0,
    remainingMs: () => term.remainingMs(),
    lossSignal: loss,
  };
  self.asked();
  await hold(self, random, grant, { waited: false, isDone: () => term.signal.aborted });
  const { reason } = term.signal;
  if (term.signal.aborted && isHoldfastError(reason, "resigned")) {
    const what = /asked to resign|preferred candidate/.exec(reason.message)?.[0];
    if (what !== undefined) self.note({ kind: "obeyed", name: LEADER, fence, what });
  }
  if (grant.isHeld()) noteReleased(self, grant);
}

/** Stands by until it is elected, and resigns. */
export async function standOnce({ locks, run }: Incarnation): Promise<void> {
  const candidate = election(locks, NAME, { lease: run.plan.leaseMs[0] });
  await candidate.lead({ again: false }, () => undefined);
}

/** Asks the leader, of any process, to resign. */
export async function askToResign(self: Incarnation, random: SeededRandom): Promise<void> {
  const [leaseMs] = self.run.plan.leaseMs;
  const candidate = election(self.locks, NAME, { lease: leaseMs });
  self.asked();
  await candidate.requestResign({ wait: random.chance(0.5) ? 0 : leaseMs }).catch(codeOf);
}
