import { HoldfastError } from "../../errors.js";
import { PERMITS } from "../../native/native-permits.js";
import { REQUESTS } from "../../native/native-requests.js";
import type { ReadAnswer, WriteAnswer } from "../../platform/table.js";
import type { AcquireOutcome } from "../acquire/outcome.js";
import { PollPace } from "../acquire/poll-pace.js";
import type { Contending } from "../acquire/settings.js";
import { inTurn } from "../acquire/turn.js";
import { Retries, unlessUnserved, untilAnswered } from "../acquire/until-answered.js";
import { decideHolder } from "../decide-holder.js";
import { freeOnce } from "../hold/release.js";
import { Pacer } from "../pacer.js";
import { requireCapability } from "../record/capability.js";
import { decidePermit, type PermitDecision } from "../record/decide-permit.js";
import type { RecordRef } from "../record/format.js";
import type { AbsentRecord, PermitInRecord, SharedRecord } from "../record/permits.js";
import { type Ending, TO_SESSION } from "../remote-sessions.js";
import { noteAbout } from "../session/note.js";
import { titleOf, tooSlow } from "../unavailable.js";
import { PermitGrantWrite, sharedRecord } from "./grant.js";
import type { Wish } from "./wish.js";

type Seen = AbsentRecord | SharedRecord;

/**
 * Contends for a permit: sends a grant, and decides the next step by the record in the refusal. Removes permits of dead
 * holders if there is no room. Without a ticket, ends as `queued` instead of waiting.
 */
export class PermitLoop {
  readonly #contending: Contending;
  readonly #wish: Wish;
  readonly #pacer: Pacer;
  readonly #pace: PollPace;
  #seen: Seen | undefined;
  #silences = 0;
  /** How often DynamoDB did not serve a request about the session of a holder. */
  #unserved = 0;
  /** The sessions of holders that {@link PermitLoop.#notifySessions} still has to ask; undefined before its time. */
  #unnotified: Set<string> | undefined;
  #retries: Retries | undefined;
  readonly #fromMs: number;

  /** `seen`: the record as the client has just read it; without it, the loop begins with a grant. */
  constructor(contending: Contending, wish: Wish, seen?: Seen) {
    const { context, settings } = contending;
    this.#contending = contending;
    this.#wish = wish;
    this.#seen = seen;
    this.#pacer = new Pacer(context, settings);
    this.#pace = new PollPace(settings);
    this.#fromMs = context.nowMs();
  }

  /**
   * Rejects as a grant of a lock, or with `limit-mismatch` if the record has another limit than the caller's: for a caller
   * that adopts it, and for a waiter in the queue, only if the weight is above that limit.
   */
  async run(): Promise<AcquireOutcome> {
    const { settings, cancellation, place } = this.#contending;
    const { life } = this.#wish;
    // The first attempt needs no read before, because its refusal shows the record.
    let decision: PermitDecision = this.#seen === undefined ? { kind: "grant" } : this.#decide();
    for (;;) {
      if (cancellation.isStopped) throw cancellation.error();
      // The session has ended. The caller tries again with another session.
      if (!life.isHeld) return { kind: "not-first" };
      switch (decision.kind) {
        case "grant": {
          if ((await place?.isFirst()) === false) return { kind: "not-first" };
          const granted = await this.#grant();
          if (granted !== undefined) return granted;
          break;
        }
        case "limit-mismatch":
          throw limitMismatch(this.#contending.ref, this.#wish, decision.limit);
        case "queued":
        case "passed-over":
          return { kind: decision.kind };
        case "remove":
          await this.#remove(decision.permit);
          // Each removal frees a permit, so the loop cannot go on for ever.
          this.#pacer.paused();
          break;
        case "look-at-session":
          if (!(await this.#lookAtSessions("look-at-session"))) await this.#waitUnserved();
          break;
        case "end-session":
          if (!(await this.#endSession(decision))) await this.#waitUnserved();
          break;
        case "wait":
          cancellation.onWait(this.#holders[0]?.owner);
          if (settings.waitMs === 0) return { kind: "not-available" };
          if (place === undefined) return { kind: "queued" };
          await this.#wait(decision.untilMs);
      }
      await this.#pacer.beforeNextRound(cancellation.signal);
      decision = this.#decide();
    }
  }

  get #holders(): readonly PermitInRecord[] {
    return this.#seen?.state === "shared" ? this.#seen.permits : [];
  }

  /** The limit for the next grant: the one that the client has last seen in the record, else the caller's. */
  get #limit(): number {
    const { limit, adopted } = this.#wish;
    if (this.#seen === undefined) return adopted?.known ?? limit;
    return (this.#seen.state === "shared" ? this.#seen.limit : undefined) ?? limit;
  }

  #decide(): PermitDecision {
    const { context, settings, place } = this.#contending;
    const { weight, limit, adopted } = this.#wish;
    // A waiter in the queue goes by a limit that an operator changes during the wait, as new callers do.
    const adopts = adopted !== undefined || place !== undefined;
    const tries = settings.waitMs === 0;
    const unserved = this.#unserved;
    const wish = { weight, limit, adopts, passage: settings.passage, unserved, tries };
    return decidePermit(this.#seen, wish, (permit) => decideHolder(context, permit));
  }

  async #grant(): Promise<AcquireOutcome | undefined> {
    const { ref, settings, cancellation } = this.#contending;
    const limit = this.#limit;
    const answer = await inTurn(this.#contending, (turn) =>
      new PermitGrantWrite(this.#contending, this.#wish, limit).run(turn),
    );
    if (answer.kind === "granted") return answer;
    if (answer.kind === "refused") {
      const { record } = answer;
      this.#wish.adopted?.see(record.state === "shared" ? record.limit : undefined);
      this.#note(answer.record);
      return undefined;
    }
    this.#silences += 1;
    if (settings.waitMs === 0 && this.#silences > 1) {
      throw tooSlow([ref.name], this.#wish.life.leaseMs, cancellation.error(), ref.kind);
    }
    await this.#look();
    return undefined;
  }

  #note(record: Seen): void {
    this.#seen = record;
    this.#wish.onSeen(record);
  }

  async #remove({ holder, fence, weight }: PermitInRecord): Promise<void> {
    const { context, ref } = this.#contending;
    const permits = requireCapability(context.format, PERMITS);
    // A late copy of the request may grant the permit again. The next waiter then removes it again: its session has
    // ended.
    const dead = permits.permitOf(ref, { holder, weight, leavesMark: false });
    const answer = await this.#ask(() =>
      freeOnce(context, dead, { known: { holder, fence } }, { keepData: false }),
    );
    this.#note(sharedRecord(this.#contending, answer));
  }

  #waitUnserved(): Promise<void> {
    this.#unserved += 1;
    return this.#wait();
  }

  /** Pauses, and reads the record again. Does not read before a holder may count as dead. */
  async #wait(untilMs = Number.POSITIVE_INFINITY): Promise<void> {
    const { context, ref, cancellation } = this.#contending;
    const nowMs = context.nowMs();
    context.observations.seeRival(ref.id, nowMs);
    const pauseMs = context.jittered(
      this.#pace.pauseMs(context.observations.holdsSeen(ref.id, nowMs)),
    );
    await context.sleep(Math.min(pauseMs, Math.max(0, untilMs - nowMs)), cancellation.signal);
    this.#pacer.paused();
    if (cancellation.isStopped) throw cancellation.error();
    // The session has probably been renewed since the last read. A strong read costs less than a refused write.
    await this.#lookAtSessions("end-session");
    await this.#notifySessions();
    const readMs = context.nowMs();
    await this.#look("eventual");
    this.#pace.polled(context.nowMs() - readMs);
  }

  /**
   * After a wait of a lease, asks the holders' sessions once to look for permits that no part of their clients uses: a
   * copy of an answered request may have granted one. Without this, the permit would last as long as its session.
   */
  async #notifySessions(): Promise<void> {
    const { context, ref, cancellation } = this.#contending;
    if (context.nowMs() - this.#fromMs <= this.#wish.life.leaseMs) return;
    this.#unnotified ??= new Set(this.#holders.map(({ session }) => session));
    this.#retries ??= new Retries(this.#contending);
    if (!this.#retries.isDue) return;
    const requests = requireCapability(context.format, REQUESTS);
    const notify = async (session: string) => {
      const note = requests.notify(context.format.codec.refOf("session", session), noteAbout(ref));
      const isServed = await this.#askOnce(() =>
        context.write(note, undefined, cancellation.signal, TO_SESSION),
      );
      if (isServed) this.#unnotified?.delete(session);
    };
    await Promise.all([...this.#unnotified].map(notify));
    if (this.#unnotified.size > 0) this.#retries.putOff();
  }

  /** Reads, in parallel, the sessions of all permits for which the client's decision is `kind`. */
  async #lookAtSessions(kind: "look-at-session" | "end-session"): Promise<boolean> {
    const { context, cancellation } = this.#contending;
    const due = this.#holders.filter((permit) => decideHolder(context, permit).kind === kind);
    const sessions = [...new Set(due.map(({ session }) => session))];
    const look = (session: string) =>
      this.#askOnce(() => context.sessions.look(session, cancellation.signal));
    return (await Promise.all(sessions.map(look))).every(Boolean);
  }

  #endSession(ending: Ending): Promise<boolean> {
    const { context, settings, cancellation } = this.#contending;
    return this.#askOnce(() => context.sessions.end(ending, settings.owner, cancellation.signal));
  }

  /**
   * Asks about the session of a holder. Resolves to whether DynamoDB served the request: a waiter then goes on reading the
   * record, because the holder may release meanwhile.
   */
  async #askOnce(ask: () => Promise<ReadAnswer | WriteAnswer>): Promise<boolean> {
    if (!this.#contending.cancellation.waits) return this.#ask(ask).then(() => true);
    return unlessUnserved(this.#contending, await ask()) !== undefined;
  }

  async #look(consistency: "strong" | "eventual" = "strong"): Promise<void> {
    const { context, ref, cancellation } = this.#contending;
    const read = { key: ref.key, consistent: consistency === "strong" };
    const answer = await this.#ask(() => context.read(read, undefined, cancellation.signal));
    // Only a strongly consistent read proves that the record is absent.
    if (answer.item === undefined && consistency === "eventual") return this.#look();
    this.#note(sharedRecord(this.#contending, answer, consistency));
  }

  #ask<A extends ReadAnswer | WriteAnswer>(ask: () => Promise<A>) {
    return untilAnswered(this.#contending, { pauseMs: this.#pace.pollMs }, ask);
  }
}

/** The error of a caller that refuses the limit in the table, or whose weight is above it. */
export function limitMismatch(
  ref: Pick<RecordRef, "name" | "kind">,
  { weight, limit, adopted }: Pick<Wish, "weight" | "limit" | "adopted">,
  found: number,
): HoldfastError {
  const uses = adopted === undefined ? `uses ${limit}` : `asks for a weight of ${weight}`;
  return new HoldfastError(
    "limit-mismatch",
    `${titleOf([ref.name], ref.kind)} has a limit of ${found} permits in the table, and this caller ${uses}. ` +
      "Use one limit everywhere, or change the limit in the table with setLimit() of holdfast/admin.",
    { lockName: ref.name },
  );
}
