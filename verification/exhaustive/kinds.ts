import { forceRelease } from "../../packages/holdfast/src/admin/index.js";
import { election } from "../../packages/holdfast/src/election/index.js";
import {
  adoptLease,
  all,
  exportLease,
  fairLock,
  type Lease,
  type LeaseTransfer,
  mutex,
  once,
  readLock,
  semaphore,
  writeLock,
} from "../../packages/holdfast/src/index.js";
import { keepFor } from "../../packages/holdfast/src/keep/index.js";
import { noteUse } from "../sim/world/operations/keeping.js";
import type { Actor } from "./actor.js";
import { LEASE_MS, POLL } from "./choices.js";
import {
  acquired,
  act,
  begin,
  heldOf,
  holdMsOf,
  noteReleased,
  PATIENT,
  UNACKNOWLEDGED,
  UNREADABLE_CODES,
  use,
  WAIT_MS,
} from "./holding.js";
import { programOf } from "./programs.js";

/** What the processes of a run give each other outside of the table. */
export interface Exchange {
  /** Resolves to the transfer of the first process, or to undefined if it made none. */
  readonly transfer: Promise<LeaseTransfer | undefined>;
  give(transfer: LeaseTransfer | undefined): void;
}

/** A use of the library by all processes of a run. */
export interface Kind {
  readonly name: string;
  /** The client has a shared session. */
  readonly onSession?: boolean;
  /** The names of the locks with a queue. */
  readonly queues: readonly string[];
  /** The partition key of the records that the operator may spoil. */
  readonly record: string;
  /** The work is random: a fault may change what follows, and its price is not judged. */
  readonly isProgram?: boolean;
  /** What a run costs without faults and without `keep`, in requests: once a queue has formed, no use is kept. */
  readonly requestsUnkept?: number;
  /**
   * What a process does. `a` begins, `b` comes 50 ms later, `c` may come later; `n` comes when all of them have ended, and
   * `m` behind it.
   */
  work(self: Actor, exchange: Exchange): Promise<void>;
}

const NAME = "x";

async function takeMutex(self: Actor): Promise<Lease> {
  self.note({ kind: "waits", name: NAME });
  const acquire = () => mutex(self.locks, NAME).acquire(PATIENT);
  return acquired(self, `waited for "${NAME}"`, acquire);
}

async function useMutex(self: Actor): Promise<void> {
  await use(self, heldOf(await takeMutex(self)), true);
}

/** Shorter than the uses of the first process, so that it is granted the lock twice. */
const KEEP = keepFor("1200ms");
const USES = 3;

/** Uses one lock several times in a row: the second use, or the third, needs no request. */
async function useKept(self: Actor): Promise<void> {
  const lock = mutex(self.locks, NAME, { lease: LEASE_MS, keep: KEEP });
  for (let at = 0; at < USES; at += 1) {
    self.note({ kind: "waits", name: NAME });
    const acquire = () => lock.acquire(PATIENT);
    const lease = await acquired(self, `waited for "${NAME}"`, acquire);
    noteUse(self, lease, KEEP);
    await use(self, heldOf(lease, { isKept: true }), true, holdMsOf(self) / 4);
    await self.sleep(100);
  }
}

async function useFairLock(self: Actor): Promise<void> {
  self.note({ kind: "waits", name: NAME });
  const acquire = () => fairLock(self.locks, NAME, { lease: LEASE_MS }).acquire(PATIENT);
  await use(self, heldOf(await acquired(self, `waited for "${NAME}"`, acquire)), true);
}

async function useBoth(self: Actor): Promise<void> {
  const locks = all(self.locks, [NAME, "y"], { lease: LEASE_MS });
  const granted = await acquired(self, "waited for two locks", () => locks.acquire(PATIENT));
  const lease = granted as unknown as Lease;
  const parts = lease.parts.map(({ fence, name }) => `${fence} ${name}`);
  self.note({ kind: "granted together", parts });
  await use(self, heldOf(lease), false);
}

async function usePermit(self: Actor, acquire: () => Promise<Lease>): Promise<void> {
  await use(self, heldOf(await acquired(self, "waited for a permit", acquire)), true);
}

function useSemaphore(self: Actor): Promise<void> {
  const limited = semaphore(self.locks, NAME, { permits: 1 });
  return usePermit(self, () => limited.acquire(PATIENT));
}

function useReadWriteLock(self: Actor): Promise<void> {
  const isWriter = ["a", "n", "m"].includes(self.name);
  const acquire = isWriter
    ? () => writeLock(self.locks, NAME).acquire(PATIENT)
    : () => readLock(self.locks, NAME).acquire(PATIENT);
  return usePermit(self, acquire);
}

async function lead(self: Actor): Promise<void> {
  const candidate = election(self.locks, NAME, { lease: LEASE_MS, poll: POLL.max });
  const standing = () =>
    candidate.lead({ again: false }, async (term) => {
      self.silence.waits(false);
      const held = heldOf(term);
      begin(self, held, false);
      await act(self, held, holdMsOf(self));
      self.moment("ends");
      if (held.isHeld) noteReleased(self, held);
    });
  const unacknowledged = (error: unknown): void => void self.codeOf(error, UNACKNOWLEDGED);
  await acquired(self, "stood by", () => standing().catch(unacknowledged));
}

async function runOnce(self: Actor): Promise<void> {
  const occurrence = ["n", "m"].includes(self.name) ? "2" : "1";
  const of = { kind: "occurrence", name: `once#${NAME}`, occurrence, isRerun: true } as const;
  const options = { occurrence, atMostFor: LEASE_MS, ifInterrupted: "rerun" } as const;
  const call = () =>
    once(self.locks, NAME, options, async (lease) => {
      self.silence.waits(false);
      self.note({ ...of, what: "began" });
      const held = heldOf(lease);
      begin(self, held, false);
      await act(self, held, holdMsOf(self));
      self.moment("ends");
      if (held.isHeld) self.note({ ...of, what: "ended" });
      if (held.isHeld) noteReleased(self, held);
    });
  // Until it waits for a run of another caller, such a call ends with the first request that has no result.
  const result = await acquired(self, "waited for a run", call, UNACKNOWLEDGED);
  if (result.ran) self.note({ ...of, what: "completed" });
}

async function transfer(self: Actor, exchange: Exchange): Promise<void> {
  if (self.name === "b") return adopt(self, exchange);
  if (self.name !== "a") return useMutex(self);
  const lease = await takeMutex(self);
  const held = heldOf(lease);
  begin(self, held, true);
  await act(self, held, 600);
  self.moment("ends");
  const { name, fence, isHeld } = lease;
  if (!isHeld) return exchange.give(undefined);
  self.note({ kind: "exports", name, fence });
  const exporting = exportLease(lease);
  noteReleased(self, held);
  try {
    const handle = await exporting;
    self.note({ kind: "exported", name, fence: BigInt(handle.fence) });
    exchange.give(handle);
  } catch (error) {
    self.codeOf(error, UNACKNOWLEDGED);
    exchange.give(undefined);
  }
}

async function adopt(self: Actor, exchange: Exchange): Promise<void> {
  const handle = await self.process.gate(exchange.transfer);
  if (handle === undefined) return useMutex(self);
  const { name } = handle;
  const from = BigInt(handle.fence);
  self.moment("asks");
  self.note({ kind: "imports", name, fence: from });
  try {
    const lease = await adoptLease(self.locks, handle, { wait: WAIT_MS });
    self.note({ kind: "imported", name, fence: lease.fence, from });
    return await use(self, heldOf(lease), false);
  } catch (error) {
    const rough = self.stage.isRough ? ["not-acquired", ...UNACKNOWLEDGED] : [];
    self.codeOf(error, rough);
  }
  return useMutex(self);
}

async function force(self: Actor): Promise<void> {
  if (self.name === "a") return use(self, heldOf(await takeMutex(self)), true, LEASE_MS);
  if (self.name === "b") {
    await self.sleep(400);
    self.note({ kind: "forces", name: NAME, isNow: false });
    try {
      const { holder, wasDead } = await forceRelease(self.locks, NAME, { reason: "a drill" });
      if (holder !== undefined && !wasDead) self.note({ kind: "forced", name: NAME, holder });
    } catch (error) {
      self.codeOf(error, [...UNACKNOWLEDGED, ...UNREADABLE_CODES, "not-acquired"]);
    }
  }
  return useMutex(self);
}

/** Every kind of lock, and what else processes do with them. */
export const KINDS = [
  { name: "mutex", queues: [], record: `lock#${NAME}`, work: useMutex },
  { name: "kept", queues: [], record: `lock#${NAME}`, requestsUnkept: 18, work: useKept },
  { name: "fair", queues: [NAME], record: `lock#${NAME}`, work: useFairLock },
  { name: "several", queues: [NAME, "y"], record: `lock#${NAME}`, work: useBoth },
  { name: "semaphore", queues: [NAME], record: `semaphore#${NAME}`, work: useSemaphore },
  { name: "read-write", queues: [NAME], record: `read-write#${NAME}`, work: useReadWriteLock },
  { name: "session", queues: [], onSession: true, record: `lock#${NAME}`, work: useMutex },
  { name: "election", queues: [], record: `leader#${NAME}`, work: lead },
  { name: "once", queues: [], record: `once#${NAME}`, work: runOnce },
  { name: "transfer", queues: [], record: `lock#${NAME}`, work: transfer },
  { name: "forced", queues: [], record: `lock#${NAME}`, work: force },
] as const satisfies readonly Kind[];

/** The name of a kind, or of a random program. */
export type KindName = (typeof KINDS)[number]["name"] | `program-${number}`;

/** Returns the kind, or the random program, of a name; undefined if there is none. */
export function kindOf(name: string): (Kind & { readonly name: KindName }) | undefined {
  const [, seed] = /^program-(\d{1,9})$/.exec(name) ?? [];
  if (seed !== undefined) return programOf(Number(seed));
  return KINDS.find((kind) => kind.name === name);
}
