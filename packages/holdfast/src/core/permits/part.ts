import { PERMITS } from "../../native/native-permits.js";
import type { AcquireOutcome } from "../acquire/outcome.js";
import type { AcquireSettings, Acquisition, Place } from "../acquire/settings.js";
import type { Shown } from "../context.js";
import { decideHolder } from "../decide-holder.js";
import { Hold } from "../hold/hold.js";
import type { KeepAliveSource } from "../hold/keep-alive.js";
import { requireCapability } from "../record/capability.js";
import { decidePermit, type PermitDecision } from "../record/decide-permit.js";
import type { RecordRef } from "../record/format.js";
import type { PermitGrant } from "../record/permit-writes.js";
import type { AbsentRecord, SharedRecord } from "../record/permits.js";
import type { HeldRecord, Passage } from "../record/record.js";
import { openedOrLater, type PermitSessions } from "./acquire.js";
import { freeStrays, sharedRecord, withdraw } from "./grant.js";
import type { JoinedGrant } from "./joined.js";
import { limitMismatch, PermitLoop } from "./loop.js";
import { whyNoRoom } from "./no-room.js";
import type { Wish } from "./wish.js";

/** What a permit that is acquired with other locks needs. */
export interface PartWish extends Omit<Wish, "life"> {
  readonly ref: RecordRef;
  readonly sessions: PermitSessions & KeepAliveSource<Hold>;
}

/** A permit in an acquisition of several locks: the record as last seen, and the grant for the transaction of all. */
export class PermitPart {
  readonly ref: RecordRef;
  readonly #asked: PartWish;
  #life: Wish["life"] | undefined;
  #seen: AbsentRecord | SharedRecord | undefined;

  constructor(asked: PartWish) {
    this.ref = asked.ref;
    this.#asked = asked;
  }

  /** Whether a session can keep the permit alive, now and later. */
  get sessions(): Pick<PartWish["sessions"], "over" | "refusal"> {
    return this.#asked.sessions;
  }

  /** Says why there is no room by the record as last seen; undefined if there is. */
  get whyNot(): string | undefined {
    return whyNoRoom(this.ref, this.#seen, this.#asked);
  }

  /** Opens the session of the permit unless it is alive: two writes. `user` keeps the session open. */
  async open(user: Acquisition): Promise<void> {
    const opening = { ...user, ref: this.ref, sessions: this.#asked.sessions };
    while (this.#life?.isHeld !== true) this.#life = await openedOrLater(opening, user);
  }

  ended(user: object): void {
    this.#asked.sessions.ended(user);
  }

  /** Notes the record in an answer. Frees permits of the own session that no part of this client uses. */
  see(context: Acquisition["context"], shown: Shown): void {
    const record = sharedRecord({ context, ref: this.ref }, shown);
    this.#seen = record;
    this.#asked.onSeen(record);
    this.#asked.adopted?.see(record.state === "shared" ? record.limit : undefined);
    if (this.#life !== undefined) freeStrays({ context, ref: this.ref }, record, this.#life);
  }

  /**
   * The next step by the record as last seen; undefined before the first look, and without a session. Throws
   * `limit-mismatch` as {@link PermitLoop.run}.
   */
  decide(
    { context, settings }: Acquisition,
    passage?: Passage,
  ): PermitDecision["kind"] | undefined {
    if (this.#seen === undefined || this.#life?.isHeld !== true) return undefined;
    const { weight, limit, adopted } = this.#asked;
    const adopts = adopted !== undefined || passage !== undefined;
    const wish = { weight, limit, adopts, passage, tries: settings.waitMs === 0 };
    const decision = decidePermit(this.#seen, wish, (permit) => decideHolder(context, permit));
    if (decision.kind === "limit-mismatch") {
      throw limitMismatch(this.ref, this.#asked, decision.limit);
    }
    return decision.kind;
  }

  /** Waits until there is room, and removes permits of dead holders. Sends no grant. */
  untilAvailable(acquisition: Acquisition, place: Place): Promise<AcquireOutcome> {
    const { context } = acquisition;
    const onSeen: Wish["onSeen"] = (record) => {
      this.#seen = record;
      this.#asked.onSeen(record);
    };
    const localQueue = context.localQueues.alone();
    const contending = { ...acquisition, ref: this.ref, localQueue, place };
    const wish = { ...this.#asked, life: this.#opened, onSeen };
    return new PermitLoop(contending, wish, this.#seen ?? { state: "absent" }).run();
  }

  /** Composes the grant onto exactly the record as last seen. */
  grant({ context, settings }: Acquisition): JoinedGrant {
    const { ref } = this;
    const life = this.#opened;
    const { weight, limit: own, marks } = this.#asked;
    const wallMs = context.wallMs();
    const before = this.#seen ?? ({ state: "absent" } as const);
    const limit = (before.state === "shared" ? before.limit : undefined) ?? own;
    const grant: PermitGrant = {
      ...{ holder: context.random.id(), weight, limit, isStored: limit !== own },
      onto: before.state === "absent" ? "absent" : before,
      ...{ session: life.id, leaseMs: life.leaseMs, owner: settings.owner },
      ...{ wallMs, fenceSeed: context.fenceSeed(ref), passage: settings.passage },
      oldMarks: marks.removable(ref.id, wallMs),
    };
    const { holder } = grant;
    const permits = requireCapability(context.format, PERMITS);
    // The grant names the state of the record, which never comes back: no late copy needs a mark to be refused.
    const permit = permits.permitOf(ref, { holder, weight, leavesMark: false });
    context.ownPermits.add(holder);
    return {
      ...{ ref, holder, write: permits.grant(ref, grant) },
      isOntoAbsent: before.state === "absent",
      get isHeld() {
        return life.isHeld;
      },
      see: (shown) => {
        this.see(context, shown);
        return context.format.codec.read(shown.item, permit);
      },
      begin: (start) => {
        const record = grantedPermit(before, grant);
        const hold = new Hold(context, permit, context.localQueues.alone(ref.id), {
          ...{ record, start },
          settings: this.#settingsOf(settings, life),
        });
        life.keep(hold);
        return { hold, record, how: "claim" };
      },
      giveUp: (mayBeApplied) => {
        context.abandon(holder);
        if (mayBeApplied) withdraw({ context, ref }, grant, life);
      },
    };
  }

  #settingsOf(settings: AcquireSettings, life: Wish["life"]): AcquireSettings {
    const { leaseMs, renewMs } = life;
    return { ...settings, leaseMs, renewMs, keptAliveBy: this.#asked.sessions };
  }

  get #opened(): Wish["life"] {
    if (this.#life === undefined) throw new Error("The session of a permit must be open.");
    return this.#life;
  }
}

/** Computes the permit after a grant onto exactly `before`: the answer to a transaction shows no record. Pure. */
function grantedPermit(before: AbsentRecord | SharedRecord, grant: PermitGrant): HeldRecord {
  const known = before.state === "shared" ? before : undefined;
  const { holder, session, leaseMs, owner, passage, fenceSeed } = grant;
  return {
    ...{ state: "held", holder, session, leaseMs, owner },
    fence: (known?.fence ?? fenceSeed) + 1n,
    version: (known?.version ?? 0n) + 1n,
    queue: {
      tail: known?.queue.tail,
      served: passage?.kind === "ticket" ? passage.ticket : known?.queue.served,
    },
    ...{ lastHolder: undefined, acquiredAt: undefined, data: undefined, mark: undefined },
    ...{ dataSeq: 0, endMs: undefined, request: known?.request },
  };
}
