import { handleOf } from "../../packages/holdfast/src/core/hold/lease.js";
import { isHoldfastError, type Lease, lossSignal } from "../../packages/holdfast/src/index.js";
import { grantFenceOf } from "../sim/world/operations/keeping.js";
import type { Actor } from "./actor.js";
import { POLL } from "./choices.js";

/** A lock, or a permit, of a lease. */
interface Part {
  readonly name: string;
  readonly fence: bigint;
  readonly holder: string;
  /** The fence of the grant in the table, if it has several uses. */
  readonly grantFence: bigint | undefined;
  /** Present for a permit. */
  readonly permit: { readonly weight: number; readonly limit: number } | undefined;
}

/** A lease, a grant of several locks, or a term, in the hands of a process. */
export interface Held {
  readonly lease: Lease;
  readonly parts: readonly Part[];
  readonly isHeld: boolean;
}

/** The weight of a writer, and so the limit of a read-write lock. */
export const WRITER = 1_000;

export const WAIT_MS = 60_000;
export const PATIENT = { wait: WAIT_MS, poll: POLL } as const;
const ACT_EVERY_MS = 250;
const AGAIN_AFTER_MS = 500;
export const UNREADABLE_CODES = ["unsupported-layout", "foreign-record"];
export const UNACKNOWLEDGED = [
  "outcome-unknown",
  "lost",
  "unreachable",
  "throttled",
  "access-denied",
];

// The first process renews its lease once.
export const holdMsOf = ({ name }: Actor): number => (name === "a" ? 2_600 : 500);

/**
 * Acquires, and again as long as the record is unreadable, or after another of these errors. Where a lease may be lost, any
 * fault may end a call early. Every other error ends the work.
 */
export async function acquired<L>(
  self: Actor,
  what: string,
  acquire: () => Promise<L>,
  expected: readonly string[] = [],
): Promise<L> {
  const rough = self.stage.isRough ? [...UNACKNOWLEDGED, "not-acquired", "closed"] : [];
  self.moment("asks");
  for (;;) {
    try {
      return await self.silence.watch(what, { wait: WAIT_MS }, acquire);
    } catch (error) {
      self.codeOf(error, [...UNREADABLE_CODES, ...expected, ...rough]);
      await self.sleep(AGAIN_AFTER_MS);
    }
  }
}

/** Notes a grant, acts with it for the time of this process, and releases it. */
export async function use(
  self: Actor,
  held: Held,
  waited: boolean,
  holdMs = holdMsOf(self),
): Promise<void> {
  begin(self, held, waited);
  await act(self, held, holdMs);
  self.moment("ends");
  const { isHeld } = held;
  const released = held.lease.release();
  if (isHeld) noteReleased(self, held);
  await released.catch((error: unknown) => self.codeOf(error, UNACKNOWLEDGED));
}

/** Notes a grant, and from now on its loss. */
export function begin(self: Actor, held: Held, waited: boolean): void {
  for (const part of held.parts) {
    const { name, fence, grantFence } = part;
    if (notePermit(self, part, "granted")) continue;
    self.stage.handedOut(self, {
      ...{ name, fence, grantFence },
      get isHeld() {
        return held.isHeld;
      },
    });
    self.note({ kind: "granted", name, fence, waited });
  }
  if (!held.isHeld) self.stage.fail("lost is final", `${self.name} was granted a lost lease`);
  const loss = lossSignal(held.lease);
  const lost = (): void => noteLost(self, held, loss.reason);
  if (loss.aborted) lost();
  else loss.addEventListener("abort", lost, { once: true });
}

function noteLost(self: Actor, held: Held, error: unknown): void {
  const reason = (isHoldfastError(error) && error.reason) || "lost-with-another";
  if (reason === "exported") return;
  // The process itself closed its session, or the client.
  const isOwn = reason === "closed" && self.endsLeases;
  if (isOwn) noteReleased(self, held);
  // A release may be the first to see that an operator has forced it.
  if (isOwn || released.has(held.lease)) return;
  // A permit is in the record until it expires, or an operator has released a lock beside it.
  const what = STAYING.includes(reason) ? "released" : "lost";
  for (const part of held.parts) {
    const { name, fence } = part;
    // Of several, one may have been asked to end.
    const of = held.parts.length === 1 ? reason : "lost-with-another";
    if (!notePermit(self, part, what)) self.note({ kind: "lost", name, fence, reason: of });
  }
}

const STAYING = ["held-too-long", "released-by-force", "interrupted"];
const released = new WeakSet<Lease>();

/** Acts with a lease for so long, as long as it is held. */
export async function act(self: Actor, held: Held, holdMs: number): Promise<void> {
  self.moment("held");
  for (let leftMs = holdMs; leftMs > 0 && noteActed(self, held); leftMs -= ACT_EVERY_MS) {
    await self.sleep(Math.min(leftMs, ACT_EVERY_MS));
  }
  noteActed(self, held);
}

/** Notes that a process acts with a lease, if it is held; returns whether it is. */
export function noteActed(self: Actor, { parts, isHeld }: Held): boolean {
  for (const part of isHeld ? parts : []) {
    const { name, fence } = part;
    if (!notePermit(self, part, "acted")) self.note({ kind: "acted", name, fence });
  }
  return isHeld;
}

export function noteReleased(self: Actor, { lease, parts }: Held): void {
  released.add(lease);
  for (const part of parts) {
    const { name, fence, holder, grantFence } = part;
    // A kept grant keeps its holder.
    const of = grantFence === undefined ? { holder } : {};
    if (!notePermit(self, part, "released")) self.note({ kind: "released", name, fence, ...of });
  }
}

function notePermit(
  self: Actor,
  { name, holder, permit }: Part,
  what: "granted" | "acted" | "released" | "lost",
): boolean {
  if (permit !== undefined) self.note({ kind: "permit", name, holder, what, ...permit });
  return permit !== undefined;
}

/** A lease as its process sees it. `limit`: how many permits its semaphore has. */
export function heldOf(lease: Lease, { isKept = false, limit = 1 } = {}): Held {
  const parts = lease.parts.map((part): Part => {
    const { name, fence, holder, weight } = part;
    const [hold] = handleOf("heldOf()", part).holds;
    const kind = hold?.ref.kind ?? "lock";
    const record = kind === "lock" ? name : `${kind}#${name}`;
    return {
      ...{ name: record, fence, holder, grantFence: isKept ? grantFenceOf(part) : undefined },
      permit:
        weight === undefined ? undefined : { weight, limit: kind === "semaphore" ? limit : WRITER },
    };
  });
  return {
    ...{ lease, parts },
    get isHeld() {
      return lease.isHeld;
    },
  };
}
