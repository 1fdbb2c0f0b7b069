import { setLimit } from "../../../../packages/holdfast/src/admin/index.js";
import {
  all,
  downgrade,
  isHoldfastError,
  type Lease,
  lossSignal,
  readLock,
  semaphore as semaphoreOf,
  writeLock,
} from "../../../../packages/holdfast/src/index.js";
import type { SeededRandom } from "../../../../packages/testing/src/time/seeded-random.js";
import type { Incarnation } from "../../incarnation.js";
import { pollOf } from "../../plan.js";
import { refuseDowngrade } from "./aims.js";
import { codeOf, expectPatience, hold, limited, noteReleased, unreadableIn } from "./holding.js";

// Unlike the names of locks, since the entries of all queues of a name share a partition.
const SEMAPHORE = "permits";
const READ_WRITE = "documents";
/** The weight of a writer. */
const WHOLE = 1_000;

/** A permit, with the key and the limit of its record. */
interface Held {
  readonly permit: Lease;
  readonly name: string;
  readonly limit: number;
}

/**
 * The number of permits that a process comes with. In every third run an operator changes the limit, and half of the
 * processes come with another number: of another deployment.
 */
function numberOf({ run, name }: Incarnation): { readonly own: number; readonly changes: boolean } {
  const own = run.plan.world?.permits ?? 1;
  const changes = run.plan.seed % 3 === 0;
  const isOther = changes && [...name].reduce((sum, one) => sum + one.charCodeAt(0), 0) % 2 === 0;
  return { own: isOther ? own + 2 : own, changes };
}

/** Acquires a permit of the semaphore, acts, and releases it; sometimes changes the limit. */
export async function semaphore(self: Incarnation, random: SeededRandom): Promise<void> {
  const { own: limit, changes } = numberOf(self);
  if (changes && random.chance(0.15)) {
    await setLimit(self.locks, SEMAPHORE, random.integer(1, limit)).catch(codeOf);
  }
  if (self.run.plan.seed % 4 === 1 && random.chance(0.5)) return mixed(self, random, limit);
  const weight = random.integer(1, Math.min(3, limit));
  const limited = semaphoreOf(self.locks, SEMAPHORE, { permits: limit });
  const permit = await taken(self, random, (given) => limited.acquire({ ...given, weight }));
  if (permit === undefined) return;
  const held = { permit, name: `semaphore#${SEMAPHORE}`, limit };
  await use(self, random, held);
  await release(self, held);
}

/** Acquires two locks, a permit of the semaphore and a read permit together, in any order, acts, and releases them. */
async function mixed(self: Incarnation, random: SeededRandom, limit: number): Promise<void> {
  const { names } = self.run.plan;
  const from = random.integer(0, names.length - 1);
  const two = [...new Set([names[from] ?? "a", names[(from + 1) % names.length] ?? "b"])];
  const limitedTo = semaphoreOf(self.locks, SEMAPHORE, { permits: limit });
  const several = random.chance(0.5)
    ? [...two, limitedTo, readLock(self.locks, READ_WRITE)]
    : [readLock(self.locks, READ_WRITE), limitedTo, ...two];
  const acquire = (given: Given) =>
    self.polling(several.length, all(self.locks, several).acquire(given));
  // An operator may have made the record of a lock unreadable; no one changes those of permits.
  const lease = await taken(self, random, acquire, unreadableIn(self));
  if (lease === undefined) return;
  const parts = lease.parts ?? [];
  const locks = parts.filter(({ weight }) => weight === undefined);
  const helds = parts
    .filter(({ weight }) => weight !== undefined)
    .map((permit): Held => {
      const isRead = permit.name === READ_WRITE;
      const name = isRead ? `read-write#${READ_WRITE}` : `semaphore#${SEMAPHORE}`;
      return { permit, name, limit: isRead ? WHOLE : limit };
    });
  if (locks.length !== two.length || helds.length !== 2) {
    self.run.fail("all or none", `${self.name} got ${parts.length} of ${several.length} locks`);
  }
  for (const held of helds) note(self, held, "granted");
  const loss = lossSignal(lease);
  const end = (): void => {
    // An operator may release one of the locks by force, or another caller interrupt it: the library then gives up the rest.
    const reason = isHoldfastError(loss.reason) ? loss.reason.reason : undefined;
    const isForced = reason === "released-by-force" || reason === "interrupted";
    for (const held of helds) note(self, held, isForced ? "released" : "lost");
  };
  loss.addEventListener("abort", end, { once: true });
  self.note({
    kind: "granted together",
    parts: locks.map(({ name, fence }) => `${fence} ${name}`),
  });
  const grant = {
    parts: locks.map(({ name, fence, holder }) => ({ name, fence, holder })),
    isHeld: () => lease.isHeld,
    remainingMs: () => lease.remainingMs(),
    lossSignal: lossSignal(lease),
  };
  await hold(self, random, grant, { waited: false });
  for (const held of helds) if (lease.isHeld) note(self, held, "acted");
  self.asked();
  const isHeld = lease.isHeld;
  const released = lease.release();
  if (isHeld) {
    noteReleased(self, grant);
    for (const held of helds) note(self, held, "released");
  }
  await released.catch(codeOf);
  self.run.exchange.ended.add(grant.lossSignal);
}

/** Acquires a read or write permit, acts, sometimes downgrades a write permit, and releases the permit. */
export async function readWriteLock(self: Incarnation, random: SeededRandom): Promise<void> {
  const reads = readLock(self.locks, READ_WRITE);
  const writes = writeLock(self.locks, READ_WRITE);
  const of = { name: `read-write#${READ_WRITE}`, limit: WHOLE };
  if (!random.chance(0.3)) {
    const permit = await taken(self, random, (given) => reads.acquire(given));
    if (permit === undefined) return;
    await use(self, random, { permit, ...of });
    return release(self, { permit, ...of });
  }
  const writer = await taken(self, random, (given) => writes.acquire(given));
  if (writer === undefined) return;
  await use(self, random, { permit: writer, ...of });
  if (!writer.isHeld || random.chance(0.5)) return release(self, { permit: writer, ...of });
  refuseDowngrade(self, random);
  try {
    const downgrading = downgrade(writer);
    note(self, { permit: writer, ...of }, "released");
    const permit = await actUntil(self, { permit: writer, ...of }, downgrading);
    await use(self, random, { permit, ...of });
    await release(self, { permit, ...of });
  } catch (error) {
    codeOf(error);
    await writer.release().catch(codeOf);
  }
}

type Given = { readonly wait: number; readonly signal: AbortSignal; readonly poll: object };

async function taken<P>(
  self: Incarnation,
  random: SeededRandom,
  acquire: (given: Given) => Promise<P>,
  also: readonly string[] = [],
): Promise<P | undefined> {
  const { behaviour, leaseMs } = self.run.plan;
  const cancelMs = random.chance(behaviour.cancels) ? leaseMs[1] * random.fraction() : undefined;
  const wait = random.chance(behaviour.tries) ? 0 : 3_600_000;
  const fromMs = self.process.clock.monotonicMs();
  self.asked();
  try {
    return await limited(self, cancelMs, (signal) =>
      self.silence.watch("waited for a permit", { wait, signal }, () =>
        acquire({ wait, signal, poll: pollOf(self.run.plan) }),
      ),
    );
  } catch (error) {
    if (isHoldfastError(error, "limit-mismatch") && numberOf(self).changes) return undefined;
    const code = codeOf(error, also);
    if (wait > 0) expectPatience(self, code, "waited for a permit", { wait, fromMs });
    return undefined;
  }
}

async function use(self: Incarnation, random: SeededRandom, held: Held): Promise<void> {
  const { run } = self;
  const { behaviour, leaseMs } = run.plan;
  const { permit } = held;
  note(self, held, "granted");
  permit.signal.addEventListener("abort", () => note(self, held, "lost"), { once: true });
  const isLong = random.chance(behaviour.holdsLong);
  const untilMs = run.time.nowMs + (isLong ? 2 * leaseMs[1] : 300) * random.fraction();
  do {
    if (!permit.isHeld) return;
    note(self, held, "acted");
    await self.sleep(60 * random.fraction());
    if (!permit.isHeld) return;
    note(self, held, "acted");
  } while (run.time.nowMs < untilMs && !run.isOver);
}

/** Acts with a permit until a call settles, if the permit is still held: readers may begin before the answer. */
async function actUntil<T>(self: Incarnation, held: Held, call: Promise<T>): Promise<T> {
  let isSettled = false;
  const settled = (): void => {
    isSettled = true;
  };
  call.then(settled, settled);
  while (!isSettled) {
    if (held.permit.isHeld) note(self, held, "acted");
    await self.sleep(2);
  }
  return call;
}

async function release(self: Incarnation, held: Held): Promise<void> {
  const { permit } = held;
  self.asked();
  const isHeld = permit.isHeld;
  const released = permit.release();
  if (isHeld) note(self, held, "released");
  await released.catch(codeOf);
}

type What = "granted" | "acted" | "released" | "lost";

function note(self: Incarnation, { permit, name, limit }: Held, what: What): void {
  const { holder, weight = 1 } = permit;
  self.note({ kind: "permit", name, holder, what, weight, limit });
}

/** Acquisitions of all permits of each record, each of which is free only without any other permit. */
export function whole({ locks, run }: Incarnation) {
  const limit = run.plan.world?.permits ?? 1;
  const limited = semaphoreOf(locks, SEMAPHORE, { permits: limit });
  const wait = 3_600_000;
  return [
    {
      name: SEMAPHORE,
      run: async () => {
        // The limit may be lower than the weight that this asks for.
        if (run.plan.seed % 3 === 0) await setLimit(locks, SEMAPHORE, limit);
        await limited.run({ weight: limit, wait }, () => undefined);
      },
    },
    {
      name: READ_WRITE,
      run: () => writeLock(locks, READ_WRITE).run({ wait }, () => undefined),
    },
  ];
}
