import { isHoldfastError, type Lease } from "../../packages/holdfast/src/index.js";
import type { Actor } from "./actor.js";
import { POLL } from "./choices.js";

/** A lease, a grant of several locks, or a term, in the hands of a process. */
export interface Held {
  readonly parts: readonly {
    readonly name: string;
    readonly fence: bigint;
    readonly holder: string;
    /** The fence of the grant in the table, if it has several uses. */
    readonly grantFence?: bigint | undefined;
  }[];
  readonly isHeld: boolean;
  readonly signal: AbortSignal;
  release?(): Promise<void>;
}

export const WAIT_MS = 60_000;
export const PATIENT = { wait: WAIT_MS, poll: POLL } as const;
export const ACT_EVERY_MS = 250;
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
  await end(self, held);
}

export function begin(self: Actor, held: Held, waited: boolean): void {
  for (const { name, fence, grantFence } of held.parts) {
    self.stage.handedOut(self, {
      name,
      fence,
      grantFence,
      get isHeld() {
        return held.isHeld;
      },
    });
    self.note({ kind: "granted", name, fence, waited });
  }
  if (!held.isHeld) self.stage.fail("lost is final", `${self.name} was granted a lost lease`);
  const lost = (): void => {
    const reason = isHoldfastError(held.signal.reason) ? held.signal.reason.reason : undefined;
    if (reason === "exported") return;
    for (const { name, fence } of held.parts) {
      self.note({ kind: "lost", name, fence, reason: reason ?? "lost-with-another" });
    }
  };
  if (held.signal.aborted) lost();
  else held.signal.addEventListener("abort", lost, { once: true });
}

export async function act(self: Actor, held: Held, holdMs: number): Promise<void> {
  self.moment("held");
  for (let leftMs = holdMs; leftMs > 0 && noteActed(self, held); leftMs -= ACT_EVERY_MS) {
    await self.sleep(Math.min(leftMs, ACT_EVERY_MS));
  }
  noteActed(self, held);
  self.moment("ends");
}

function noteActed(self: Actor, { parts, isHeld }: Held): boolean {
  if (isHeld) for (const { name, fence } of parts) self.note({ kind: "acted", name, fence });
  return isHeld;
}

async function end(self: Actor, held: Held): Promise<void> {
  const isHeld = held.isHeld;
  const released = held.release?.();
  if (isHeld) noteReleased(self, held);
  await released?.catch((error: unknown) => self.codeOf(error, UNACKNOWLEDGED));
}

export function noteReleased(self: Actor, { parts }: Held): void {
  for (const { name, fence, holder, grantFence } of parts) {
    // A kept grant keeps its holder.
    const of = grantFence === undefined ? { holder } : {};
    self.note({ kind: "released", name, fence, ...of });
  }
}

export function ofOne(lease: Lease): Held {
  const { name, fence, holder, signal } = lease;
  return {
    parts: [{ name, fence, holder }],
    get isHeld() {
      return lease.isHeld;
    },
    signal,
    release: () => lease.release(),
  };
}
