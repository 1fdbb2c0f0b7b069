import { Hold } from "../../packages/holdfast/src/core/hold/hold.js";
import { nativeFormat } from "../../packages/holdfast/src/native/native.js";
import { nativePermits } from "../../packages/holdfast/src/native/native-permits.js";
import { VARIANTS } from "./all.js";
import type { Edit, Rule } from "./variant.js";

/** Code that breaks a rule, and a run in which the interpreter of the protocol refuses a write of it. */
export interface Refused {
  readonly rule: Rule;
  /** The step of the record's state machine; absent where what a process sends is judged. */
  readonly step?: string;
  /** A part of what the interpreter reports. */
  readonly says: string;
  readonly edits: readonly Edit[];
  /** The name of a placement. */
  readonly placement: string;
}

function variant(name: string): readonly Edit[] {
  const found = VARIANTS.find((one) => one.name === name);
  if (found === undefined) throw new Error(`No variant is named "${name}".`);
  return found.edits;
}

// The scheduler goes on with a lease that its holder has released.
const RENEWED_AFTER_RELEASE: readonly Edit[] = [
  {
    in: { Hold },
    from: "this.#isOver = true; watched.delete(this); if (reason !== undefined && !RES",
    to: "this.#isOver = reason !== undefined; if (reason !== undefined && !RES",
  },
  {
    in: { Hold },
    from: "this.context.scheduler.forget(this); this.settings.keptAliveBy?.ended(this);",
    to: "this.settings.keptAliveBy?.ended(this);",
  },
];

const SENT: readonly Refused[] = [
  {
    rule: "R2",
    says: "after its deadline",
    edits: variant("grant-from-last-send"),
    placement: "transfer: a.asks stops",
  },
  {
    rule: "R3",
    says: "has seen it for",
    edits: variant("wall-clock-expiry"),
    placement: "once: none",
  },
  {
    rule: "R6",
    says: "after an answer that showed its loss",
    // Without a theft, no answer shows a loss before the deadline.
    edits: [
      ...variant("claim-unconditional"),
      {
        in: { Hold },
        from: "if (reason !== undefined) this.end(reason, forcedIn(found, this.held)); else this.hear(",
        to: "if (reason === undefined) this.hear(",
      },
    ],
    placement: "mutex: none",
  },
  {
    rule: "R7",
    says: "sent two writes at once",
    edits: variant("release-beside-renewal"),
    placement: "mutex: a2 slow-answer",
  },
  {
    rule: "R8",
    says: "renewed a lease after its end",
    edits: RENEWED_AFTER_RELEASE,
    placement: "mutex: none",
  },
  {
    rule: "R11",
    says: "compares expiresAt",
    edits: [
      {
        in: { nativeFormat },
        from: "return any(isAbsent(pk), FREE);",
        to: 'return any(isAbsent(pk), FREE, { kind: "below", attribute: "expiresAt", value: n(1_700_000_000) });',
      },
    ],
    placement: "mutex: none",
  },
  {
    rule: "R13",
    says: "after its client had closed",
    edits: RENEWED_AFTER_RELEASE,
    placement: "mutex: none",
  },
];

const OF_ONE_HOLDER: readonly Refused[] = [
  {
    rule: "R9",
    step: "a deletion",
    says: "deleted a record",
    edits: [
      {
        in: { nativeFormat },
        from: "condition: holdersCondition(from), change: lasting(ref, {",
        to: 'as: "delete", condition: holdersCondition(from), change: lasting(ref, {',
      },
    ],
    placement: "mutex: none",
  },
  {
    rule: "R1",
    step: "a grant",
    says: "could replace any holder",
    edits: variant("claim-unconditional"),
    placement: "transfer: none",
  },
  {
    rule: "R4",
    step: "a grant",
    says: "took a version that it did not name",
    edits: variant("takeover-by-holder-alone"),
    placement: "transfer: a1 twice",
  },
  {
    rule: "R5",
    step: "a grant",
    says: "could be applied twice",
    edits: variant("grant-applied-twice"),
    placement: "transfer: none",
  },
  {
    rule: "R12",
    step: "a grant",
    says: "an unknown layout",
    edits: variant("unknown-layout-claimed"),
    placement: "mutex: none",
  },
  {
    rule: "R10",
    step: "a grant",
    says: "a TTL that a live record could reach",
    edits: variant("ttl-at-the-lease-end"),
    placement: "mutex: none",
  },
  {
    rule: "R9",
    step: "the end of a grant",
    says: "with another fence",
    edits: variant("fence-reset-by-release"),
    placement: "mutex: none",
  },
  {
    rule: "R14",
    step: "the end of a grant",
    says: "left session",
    edits: [
      {
        in: { nativeFormat },
        from: '"leaseEnd", "session", ...(options.keepData',
        to: '"leaseEnd", ...(options.keepData',
      },
    ],
    placement: "session: none",
  },
  {
    rule: "R3",
    step: "a renewal",
    says: "without the next version",
    edits: variant("version-reused"),
    placement: "forced: none",
  },
  {
    rule: "R7",
    step: "a renewal",
    says: "could change a later lease",
    edits: variant("renewal-unconditional"),
    placement: "mutex: none",
  },
  {
    rule: "R1",
    step: "a ticket, or a record without a holder",
    says: "lowered the tickets",
    edits: [{ in: { nativeFormat }, from: "by: count };", to: "by: -count };" }],
    placement: "fair: none",
  },
];

const OF_MANY_HOLDERS: readonly Refused[] = [
  {
    rule: "R9",
    step: "a grant of a permit",
    says: "granted without a higher fence",
    edits: [
      {
        in: { nativePermits },
        from: "fence: { incrementFrom },",
        to: "fence: { orElse: n(fenceSeed) },",
      },
    ],
    placement: "semaphore: none",
  },
  {
    rule: "R12",
    step: "a grant of a permit",
    says: "an unknown layout",
    edits: [{ in: { nativePermits }, from: "KNOWN, isStored ? isLimit", to: "isStored ? isLimit" }],
    placement: "semaphore: none",
  },
];

/** A break of each rule, and of the steps of each kind of record. */
export const REFUSED: readonly Refused[] = [...SENT, ...OF_ONE_HOLDER, ...OF_MANY_HOLDERS];
