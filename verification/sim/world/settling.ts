import { all, mutex } from "../../../packages/holdfast/src/index.js";
import type { Item } from "../../../packages/holdfast/src/platform/table.js";
import type { MemoryTable } from "../../../packages/testing/src/table/memory-table.js";
import { seededRandom } from "../../../packages/testing/src/time/seeded-random.js";
import { orphans } from "../denied/checkers.js";
import type { Incarnation, Run } from "../incarnation.js";
import { numberIn, textIn } from "../items.js";
import { pollOf } from "../plan.js";
import type { Settling } from "../settling.js";
import type { KeptSession } from "./kept-session.js";
import { standOnce } from "./operations/elections.js";
import { callFor, leaseMsOf, RERUN } from "./operations/occurrences.js";
import { whole } from "./operations/permits.js";

/**
 * Checks a world after the faults: newcomers get every lock, the leadership and all permits within a lease, leave
 * every queue empty, and run the last occurrence of a task unless it has ended.
 */
export async function settleWorld(
  run: Run,
  settling: Settling,
  [one, other]: readonly [Incarnation, Incarnation],
  incarnations: readonly Incarnation[],
  table: MemoryTable,
): Promise<void> {
  const { plan, time } = run;
  // A transfer that no process imports keeps its lock for as long as the exporter said, and a newcomer watches it.
  const leaseMs = Math.max(plan.leaseMs[1], run.exchange.longestMs);
  // Calls may have extended a lease by hand, by half a second each time.
  const freeMs = (leaseMs + 5_000) * 1.1 + 2_000;
  // The last copies of requests from the time of the faults arrive.
  await time.advance((plan.faults.longestDelayMs ?? 0) + 1_000);
  const kept = incarnations.flatMap(({ keptSession }) => keptSession ?? []);
  if (kept.length > 0) await expectNoOrphan(run, kept, table, freeMs);
  for (const name of plan.names) {
    await settling.expect("no orphan", `"${name}" was not free`, takeAndRelease(one, name), freeMs);
  }
  const inTurn = takeAllInTurn(run, one, other);
  await settling.expect("no orphan", "all locks were not free", inTurn, freeMs);
  // Candidates read the record at a tenth of a lease, and let a preferred one go first.
  const standing = standOnce(one);
  await settling.expect("no orphan", "no leader was elected", standing, freeMs + 0.5 * leaseMs);
  // After a lease, a waiter asks the holders' sessions for permits that a late copy was granted.
  for (const { name, run: taking } of whole(one)) {
    const limitMs = freeMs + leaseMs;
    await settling.expect("no orphan", `"${name}" was not free`, taking(), limitMs);
  }
  const due = run.exchange.due.get(RERUN);
  if (due !== undefined) {
    const limitMs = 2 * (freeMs + leaseMsOf(plan, RERUN));
    const last = callFor(one, seededRandom(plan.seed), RERUN, due, "due");
    await settling.expect("progress", "the last occurrence never ended", last, limitMs);
  }
  await time.advance(3_000);
  const left = table.items().filter((item) => isEntryOf(item, plan.names));
  const entries = left.map(({ pk, sk, owner }) => JSON.stringify([pk, sk, owner]));
  if (left.length > 0) run.fail("nothing left", entries.join(", "));
  await settling.expectClosed(kept.map((session) => session.end()));
  await settling.expectClosed([one.locks.close(), other.locks.close()]);
}

/**
 * Expects that no record, permit or place names a session that is alive but for the permit that keeps it open. Before any
 * newcomer: a waiter asks the sessions of the holders to look for what no part of their clients uses.
 */
async function expectNoOrphan(
  run: Run,
  kept: readonly KeptSession[],
  table: MemoryTable,
  freeMs: number,
): Promise<void> {
  const { time } = run;
  const before = versionsOfSessions(table);
  await time.advance(freeMs);
  const after = versionsOfSessions(table);
  const holders = new Set(kept.flatMap(({ holder }) => holder ?? []));
  for (const { key, holder, session } of orphans(table.items(), holders, time.wallMs)) {
    // Nobody renews a dead session, whatever end a wrong `Date` has brought into its row. Waiters watch it.
    if (after.get(session) === before.get(session)) continue;
    run.fail("no orphan", `${key} still names ${holder}, which nobody holds, on a live session`);
  }
}

/** The version of each session's row: it grows with each renewal. */
function versionsOfSessions(table: MemoryTable): ReadonlyMap<string, bigint | undefined> {
  return new Map(
    table.items().flatMap((item) => {
      const pk = textIn(item, "pk");
      const isSession = pk?.startsWith("session#") === true;
      return isSession ? [[pk.slice("session#".length), numberIn(item, "version")] as const] : [];
    }),
  );
}

async function takeAndRelease(newcomer: Incarnation, name: string): Promise<void> {
  newcomer.note({ kind: "waits", name });
  await mutex(newcomer.locks, name).run({ wait: "1h" }, ({ fence }) => {
    newcomer.note({ kind: "granted", name, fence, waited: true });
    newcomer.note({ kind: "released", name, fence });
  });
}

/** A second newcomer waits in the queues, and so removes entries of late copies. */
async function takeAllInTurn({ plan, time }: Run, one: Incarnation, other: Incarnation) {
  const allOf = ({ locks }: Incarnation) => all(locks, plan.names, { poll: pollOf(plan) });
  const first = await allOf(one).acquire({ wait: "1h" });
  const second = allOf(other).acquire({ wait: "1h" });
  await time.sleep(1_000);
  await first.release();
  await (await second).release();
}

function isEntryOf(item: Item, names: readonly string[]): boolean {
  return names.some((name) => textIn(item, "pk") === `queue#${name}`);
}
