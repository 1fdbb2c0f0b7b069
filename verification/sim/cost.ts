import type { Checker } from "./checker.js";
import type { RequestKind, Timed, Violation } from "./history.js";
import { type Cost, TIMER_SLACK_MS } from "./terms.js";

/** The counts of one process for one name. */
class Account {
  readonly by: string;
  readonly name: string;
  readonly applied = new Map<RequestKind, number>();
  readonly refused = new Map<RequestKind, number>();
  granted = 0;
  released = 0;
  /** Acquisitions which ended with their session. */
  closed = 0;
  handedOver = 0;
  /** Grants that the table applied. The process does not see the answer to a claim which its closed session ended. */
  taken = 0;
  asked = 0;
  waiting = 0;
  waitedMs = 0;
  waitingSinceMs = 0;
  /** How long the process had a place in the queue of the name. */
  queuedMs = 0;

  constructor(by: string, name: string) {
    this.by = by;
    this.name = name;
  }

  wait(more: 1 | -1, atMs: number): void {
    if (this.waiting > 0) this.waitedMs += atMs - this.waitingSinceMs;
    this.waitingSinceMs = atMs;
    this.waiting += more;
  }
}

/** docs/fair-lock.md: at most 100 reads a second. */
const LEAST_QUEUE_POLL_MS = 10;

const of = (counts: ReadonlyMap<RequestKind, number>, what: RequestKind): number =>
  counts.get(what) ?? 0;

/**
 * Without faults, costs are as documented: one applied write for a grant, one for a release or a hand-off, one
 * renewal per period. A waiter without rivals has no refused requests; polls keep their minimum distance; strongly
 * consistent reads are not needed.
 */
export const cost: Checker = (history, { cost, maxClockDrift }) => {
  if (cost === undefined) return [];
  const accounts = new Map<string, Account>();
  const accountOf = (by: string, name: string): Account => {
    const key = `${by} ${name}`;
    const account = accounts.get(key) ?? new Account(by, name);
    accounts.set(key, account);
    return account;
  };
  const holders = new Map<string, { holder: string | undefined; by: string }>();
  const changes = new Map<string, Map<string, number>>();
  const places = new Map<string, { readonly account: Account; readonly sinceMs: number }>();
  const leave = (place: string, atMs: number): void => {
    const left = places.get(place);
    if (left !== undefined) left.account.queuedMs += atMs - left.sinceMs;
    places.delete(place);
  };
  for (const event of history) {
    if (!("name" in event)) continue;
    const account = accountOf(event.by, event.name);
    count(account, event);
    if (event.kind === "place") {
      const place = `${event.ticket} ${event.name}`;
      if (event.holder === undefined) leave(place, event.atMs);
      else if (!places.has(place)) places.set(place, { account, sinceMs: event.atMs });
    }
    if (event.kind !== "record") continue;
    const before = holders.get(event.name);
    if (before?.holder === event.holder && before !== undefined) continue;
    holders.set(event.name, { holder: event.holder, by: event.by });
    if (event.holder !== undefined) account.taken += 1;
    if (before?.holder !== undefined && event.holder !== undefined) account.handedOver += 1;
    const byProcess = changes.get(event.name) ?? new Map<string, number>();
    byProcess.set(event.by, (byProcess.get(event.by) ?? 0) + 1);
    changes.set(event.name, byProcess);
  }
  const atMs = history.at(-1)?.atMs ?? 0;
  for (const place of [...places.keys()]) leave(place, atMs);
  const found = [...accounts.values()].flatMap((account) => {
    const all = [...(changes.get(account.name) ?? new Map<string, number>())];
    const others = all.reduce((sum, [by, n]) => sum + (by === account.by ? 0 : n), 0);
    return wrongIn(account, others, cost, maxClockDrift).map((wrong) => ({
      invariant: "cost",
      atMs,
      what: `${account.by} and "${account.name}": ${wrong}`,
    }));
  });
  return [...found, ...renewalsIn(history, cost, maxClockDrift)];
};

function count(account: Account, event: Timed): void {
  switch (event.kind) {
    case "request": {
      const counts = event.isApplied ? account.applied : account.refused;
      counts.set(event.what, of(counts, event.what) + 1);
      return;
    }
    case "waits":
      account.wait(1, event.atMs);
      return;
    case "granted":
      account.granted += 1;
      account.asked += 1;
      if (event.waited === true) account.wait(-1, event.atMs);
      return;
    case "gave up":
      account.asked += 1;
      if (event.code === "closed") account.closed += 1;
      if (event.waited === true) account.wait(-1, event.atMs);
      return;
    case "released":
      account.released += 1;
  }
}

/** `others` is the number of times a different process took the record. */
function wrongIn(account: Account, others: number, cost: Cost, maxClockDrift: number): string[] {
  const { applied, refused, granted, released, closed, handedOver, taken, asked } = account;
  const { waitedMs, queuedMs } = account;
  const wrong: string[] = [];
  // A grant which coincides with the end of its session is released again, and reaches no caller.
  const undone = taken - granted;
  if (undone < 0 || undone > closed) wrong.push(`${taken} grants in the table for ${granted}`);
  const grants = of(applied, "grant");
  if (grants < granted || grants > taken) wrong.push(`${grants} writes for ${granted} grants`);
  const releases = of(applied, "release") + handedOver;
  if (releases !== released + undone) wrong.push(`${releases} writes for ${released} releases`);
  // The write of a ticket may be in flight when the session ends, and then has no answer.
  for (const [what, most] of [
    ["renewal", 0],
    ["data", closed],
  ] as const) {
    if (of(refused, what) > most) wrong.push(`${of(refused, what)} refused: ${what}`);
  }
  // A claim may be in flight when the session ends. The rollback of this claim repeats for a lease, with doubling
  // pauses.
  const doublings = Math.log2(cost.longestLeaseMs / (0.75 * cost.minPollMs));
  if (of(refused, "release") > closed * (2 + Math.ceil(doublings))) {
    wrong.push(
      `${of(refused, "release")} refused: release, and ${closed} ended with their session`,
    );
  }
  if (of(applied, "look") > 0) wrong.push(`${of(applied, "look")} strong reads`);
  // Each acquisition begins with one blind claim; later claims follow only an observation of a free record.
  const mostRefused = others === 0 ? 0 : asked + others;
  if (of(refused, "grant") > mostRefused) {
    wrong.push(`${of(refused, "grant")} claims refused, of at most ${mostRefused}`);
  }
  // Polls slow down from the minimum pause to the maximum, and restart with each new holder. The first waiter of a
  // queue polls in a tenth of a hold.
  const growing = Math.ceil(Math.log(cost.maxPollMs / cost.minPollMs) / Math.log(1.5)) + 1;
  const slow = (waitedMs * (1 + maxClockDrift)) / (0.75 * cost.maxPollMs);
  const mostPolls =
    others === 0 ? 0 : (asked + others) * growing + slow + queuedMs / LEAST_QUEUE_POLL_MS;
  if (of(applied, "poll") > mostPolls) {
    wrong.push(`${of(applied, "poll")} polls, of at most ${mostPolls.toFixed(0)}`);
  }
  return wrong;
}

/**
 * Returns the largest number of renewals in this time. The first comes after at least nine tenths of a period; the
 * second at any time after the first, to spread leases which were granted together; each later renewal a period after
 * the previous.
 */
export function mostRenewals(heldMs: number, renewMs: number): number {
  const periods = heldMs / renewMs;
  return periods < 0.9 ? 0 : 2 + (periods - 0.9);
}

/** Checks that renewals keep their period: neither too few nor too many while a lease is held. */
function renewalsIn(history: readonly Timed[], cost: Cost, maxClockDrift: number): Violation[] {
  const renewals = new Map<string, { sentMs: number; count: number; isOver: boolean }>();
  const found: Violation[] = [];
  let answered = 0;
  let sent = 0;
  for (const event of history) {
    if (event.kind === "request" && event.what === "renewal") sent += 1;
    if (event.kind !== "kept" && event.kind !== "released") continue;
    const key = `${event.name} ${event.fence}`;
    const known = renewals.get(key);
    if (event.kind === "kept") {
      if (known === undefined) renewals.set(key, { sentMs: event.sentMs, count: 0, isOver: false });
      else {
        known.count += 1;
        answered += 1;
      }
      // The move to a session is the last renewal of a lease.
      if (event.session === undefined) continue;
    }
    if (known === undefined || known.isOver) continue;
    known.isOver = true;
    const heldMs = event.atMs - known.sentMs;
    const most = mostRenewals(heldMs * (1 + maxClockDrift), cost.renewMs);
    // A renewal may be in flight when the caller releases: it is answered before the release is sent. The first one may
    // open the session, with two writes before it.
    const least = Math.floor(
      (heldMs - 6 * cost.latencyMs) / (cost.renewMs / (1 - maxClockDrift) + TIMER_SLACK_MS),
    );
    if (known.count <= most && known.count >= least) continue;
    const what = `${event.by} renewed "${event.name}" ${known.count} times in ${heldMs.toFixed(0)} ms`;
    found.push({ invariant: "cost", atMs: event.atMs, what });
  }
  if (sent !== answered) {
    const what = `${sent} renewals were sent, and ${answered} kept a lease`;
    found.push({ invariant: "cost", atMs: history.at(-1)?.atMs ?? 0, what });
  }
  return found;
}
