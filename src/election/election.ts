import type { AcquireContext } from "../core/acquire/context.js";
import type { RecordRef } from "../core/record/format.js";
import type { FormatTypes, NativeTypes } from "../core/record/format-types.js";
import type { HeldRecord } from "../core/record/record.js";
import { HoldfastError } from "../errors.js";
import { type Candidate, candidateOf, closedError } from "./candidate.js";
import { Ending } from "./ending.js";
import type { Transition } from "./events.js";
import { govern, type LeaderBody, type Leading } from "./lead.js";
import { type LeaderInfo, leaderNow, observe } from "./observe.js";
import { type ElectionOptions, resolveElection } from "./options.js";
import { askToResign, assertAsks, type RequestResignOptions, resolveWait } from "./requests.js";
import { STAND_BACK_POLLS, Standby } from "./standby.js";
import { numberOf, Term, type TermOf } from "./term.js";

/** Options of {@link Election.campaign}. */
export interface CampaignOptions<S extends FormatTypes = NativeTypes> {
  /** Ends the campaign, which then rejects with the signal's reason; nothing is left behind. */
  readonly signal?: AbortSignal | undefined;
  /** What to proclaim with the election itself, in the same request: any JSON value, or what the format keeps. */
  readonly value?: S["data"] | undefined;
}

/** Options of {@link Election.lead}. */
export interface LeadOptions<S extends FormatTypes = NativeTypes> extends CampaignOptions<S> {
  /** Whether to campaign again after a term. Default true. */
  readonly again?: boolean | undefined;
}

/**
 * One candidate for the leadership of a name: of all candidates, in any number of processes, at most one
 * leads. It does **not** promise that: see {@link UnfencedTerm}. A leader that dies is replaced within the
 * failover time; one that resigns, within a poll. In a format of other clients the leadership of a name is
 * their lock of that name.
 *
 * Two elections made for one name are two candidates. One candidate has one term at a time.
 */
export class Election<S extends FormatTypes = NativeTypes> {
  /** The name of what is led. */
  readonly name: string;
  readonly #candidate: Candidate;
  readonly #leading: Set<Leading>;
  #term: Term | undefined;
  #isBusy = false;
  #notBeforeMs = Number.NEGATIVE_INFINITY;

  /** @internal Made by `Holdfast.election`. */
  constructor(
    context: AcquireContext,
    ref: RecordRef,
    options: ElectionOptions,
    defaultOwner: string,
    leading: Set<Leading>,
  ) {
    this.name = ref.name;
    if (options.preferred === true) assertAsks(context.format);
    const settings = resolveElection(
      options,
      defaultOwner,
      context.settings.maxClockDrift,
      context.format.defaults?.keepData,
    );
    this.#candidate = candidateOf(context, ref, settings);
    this.#leading = leading;
  }

  /**
   * Stands by until this candidate is elected, for as long as that takes. Costs a read of half a unit a
   * poll, at most 20 % more, and one write. Goes on where the table does not answer. The term lasts until
   * it resigns, is lost, or the client closes.
   *
   * Rejects with the reason of `signal`, or with `closed`, `misconfigured`, `access-denied`,
   * `foreign-record` or `unsupported-layout`. Throws `invalid-argument`, also while this candidate
   * campaigns or leads already.
   */
  async campaign(options: CampaignOptions<S> = {}): Promise<TermOf<S>> {
    this.#occupy(options);
    const ending = new Ending(this.#candidate.context.closing, this.name, options.signal);
    try {
      const term = await this.#elected(ending.signal, options.value, () => {
        this.#isBusy = false;
      });
      return term as TermOf<S>;
    } catch (error) {
      this.#isBusy = false;
      throw error;
    } finally {
      ending.dispose();
    }
  }

  /**
   * Campaigns, runs `body` while it leads, and campaigns again. The body gets a signal, which aborts when
   * it has to end, and its term. A term is released only after the body has ended; where the body returns
   * by itself, the candidate has resigned. After a resignation it stands back for two polls.
   *
   * Resolves once `signal` aborts or the client closes, and the body has ended; with `again: false`, after
   * one term. Rejects with the body's error, unless the body had been told to end: such an error goes to
   * the client's `onError`, if it is not the signal's reason or an `AbortError`. Otherwise as
   * {@link Election.campaign}.
   */
  async lead(body: LeaderBody<S>): Promise<void>;
  async lead(options: LeadOptions<S>, body: LeaderBody<S>): Promise<void>;
  async lead(
    ...given: [body: LeaderBody<S>] | [options: LeadOptions<S>, body: LeaderBody<S>]
  ): Promise<void> {
    const [options, body] = given.length === 1 ? [{}, given[0]] : given;
    if (typeof body !== "function") {
      throw new HoldfastError("invalid-argument", "lead() takes the body last, as a function.");
    }
    this.#occupy(options);
    const ending = new Ending(this.#candidate.context.closing, this.name, options.signal);
    const ended = this.#leadUntil(ending.signal, options, body);
    const leading = {
      ended: ended.catch(() => undefined),
      forsake: () => this.#term?.forsake(),
    };
    this.#leading.add(leading);
    try {
      await ended;
    } finally {
      this.#leading.delete(leading);
      this.#isBusy = false;
      ending.dispose();
    }
  }

  /**
   * Ends the present term of this candidate, if it has one: see {@link Term.resign}. It goes on
   * campaigning where it was told to lead again, two polls later.
   */
  async resign(): Promise<void> {
    await this.#term?.resign();
  }

  /**
   * Asks whoever leads, in whatever process, to resign: by one write in the record, which the leader finds
   * at its next renewal. Resolves to whether its term was over within the wait, and to true where nobody
   * led. What was asked stays asked: a leader may resign after this has resolved to false. One read, one
   * write, and some reads while it waits. Rejects with `unreachable`, `throttled` and the like, and with
   * `invalid-argument` in a format whose records have no room for a request.
   */
  async requestResign(options: RequestResignOptions = {}): Promise<boolean> {
    const waitMs = resolveWait(options);
    assertAsks(this.#candidate.context.format);
    if (this.#candidate.context.isLocal) {
      this.#term?.end("it was asked to resign");
      return this.#term?.isOver !== false;
    }
    return askToResign(this.#candidate, waitMs, options.signal);
  }

  /** Who leads, as the record says, which is no proof. One read of one unit. Rejects with coded errors. */
  leader(): Promise<LeaderInfo<S>> {
    return leaderNow(this.#candidate, this.#term) as Promise<LeaderInfo<S>>;
  }

  /**
   * Who leads, at first and at every change of it or of the value: one read of half a unit a poll, of one
   * unit in a format whose grants are not numbered. A change that lasts for less than a poll may not be seen; an earlier term is never told after a later
   * one. Goes on where the table does not answer; ends when `signal` aborts or the client closes. Throws
   * `misconfigured`, `access-denied`, `foreign-record` or `unsupported-layout`.
   */
  async *observe(
    options: { readonly signal?: AbortSignal | undefined } = {},
  ): AsyncGenerator<LeaderInfo<S>> {
    const ending = new Ending(this.#candidate.context.closing, this.name, options.signal);
    try {
      const seen = observe(this.#candidate, () => this.#term, ending.signal);
      yield* seen as AsyncGenerator<LeaderInfo<S>>;
    } finally {
      ending.dispose();
    }
  }

  /**
   * Shows a value to whoever observes, while this candidate leads: see {@link Term.proclaim}. Rejects with
   * `not-acquired` where it does not.
   */
  async proclaim(value: S["data"] | undefined): Promise<void> {
    const term = this.#term;
    if (term === undefined || !term.isLeading) {
      throw new HoldfastError(
        "not-acquired",
        `This candidate does not lead "${this.name}", so it has nothing to proclaim.`,
        { lockName: this.name },
      );
    }
    await term.proclaim(value as NativeTypes["data"] | undefined);
  }

  /** Whether this candidate leads now; asks the clocks. Costs no request. */
  get isLeader(): boolean {
    return this.#term?.isLeading === true;
  }

  /** The term of this candidate, until it is released or lost. Costs no request. */
  get term(): TermOf<S> | undefined {
    return this.#term?.isOver === true ? undefined : (this.#term as TermOf<S> | undefined);
  }

  /**
   * Calls `listener` with each {@link Transition} of this candidate, in order, as it happens; what it
   * throws goes to the client's `onError`. Answers a function that ends it. Costs no request.
   */
  onTransition(listener: (transition: Transition<S>) => void): () => void {
    return this.#candidate.monitor.onTransition(
      listener as (told: Transition<FormatTypes>) => void,
    );
  }

  /** @internal For what is built on elections. */
  get candidate(): Candidate {
    return this.#candidate;
  }

  #occupy(options: CampaignOptions<S>): void {
    const { context } = this.#candidate;
    if (options.value !== undefined) context.format.checkData(options.value);
    if (context.closing.aborted) throw closedError(this.name);
    if (this.#isBusy) {
      throw new HoldfastError(
        "invalid-argument",
        `This candidate for "${this.name}" campaigns or leads already. Make another election for ` +
          "another candidate.",
        { lockName: this.name },
      );
    }
    this.#isBusy = true;
  }

  async #leadUntil(
    signal: AbortSignal,
    options: LeadOptions<S>,
    body: LeaderBody<S>,
  ): Promise<void> {
    while (!signal.aborted) {
      const term = await this.#electedUnless(signal, options.value);
      if (term === undefined) return;
      await govern(term, signal, body as LeaderBody, this.#candidate.report);
      if (options.again === false) return;
    }
  }

  async #electedUnless(
    signal: AbortSignal,
    value: S["data"] | undefined,
  ): Promise<Term | undefined> {
    try {
      return await this.#elected(signal, value, () => undefined);
    } catch (error) {
      if (signal.aborted) return undefined;
      throw error;
    }
  }

  async #elected(
    signal: AbortSignal,
    value: S["data"] | undefined,
    onOver: () => void,
  ): Promise<Term> {
    const candidate = this.#candidate;
    let term: Term | undefined;
    const standby = new Standby(candidate, {
      data: value,
      signal,
      notBeforeMs: this.#notBeforeMs,
      onRenewal: (record) => {
        if (term !== undefined) this.#renewed(term, record);
      },
    });
    const { lease, gapMs } = await standby.run();
    candidate.monitor.transition("elected", numberOf(lease), { gapMs });
    term = Term.on(lease, candidate.monitor, () => {
      const { context, settings } = candidate;
      if (!lease.signal.aborted) {
        this.#notBeforeMs = context.nowMs() + STAND_BACK_POLLS * settings.pollMs;
      }
      onOver();
    });
    this.#term = term;
    return term;
  }

  #renewed(term: Term, record: HeldRecord | undefined): void {
    const { monitor, settings } = this.#candidate;
    monitor.renewal(term.fence, record !== undefined, term.remainingMs());
    if (record?.resignAsked === term.holder) term.end("it was asked to resign");
    else if (record?.preferAsked === term.holder && !settings.preferred) {
      term.end("a preferred candidate stands by");
    }
  }
}
