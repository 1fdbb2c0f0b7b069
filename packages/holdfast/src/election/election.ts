import { type ClientParts, type Holdfast, partsOf } from "../client.js";
import { checkFunction, type HeldLease, type Lease } from "../core/hold/lease.js";
import { OutageWatch } from "../core/outage-watch.js";
import { requireCapability } from "../core/record/capability.js";
import type { FormatTypes, NativeTypes } from "../core/record/format-types.js";
import { refOf } from "../core/record/key.js";
import type { HeldRecord } from "../core/record/record.js";
import { HoldfastError } from "../errors.js";
import { checkNames, refuse } from "../internal/option-names.js";
import { REQUESTS } from "../native/native-requests.js";
import { type Candidate, candidateOf, closedError } from "./candidate.js";
import { Ending } from "./ending.js";
import type { LeadershipChange } from "./events.js";
import { govern, type LeaderBody } from "./lead.js";
import { type LeaderInfo, leaderNow, observe } from "./observe.js";
import {
  CAMPAIGN_NAMES,
  type CampaignOptions,
  ELECTION_NAMES,
  type ElectionOptions,
  LEAD_NAMES,
  type LeadOptions,
  resolveElection,
} from "./options.js";
import { askToResign, type RequestResignOptions, resolveWait } from "./requests.js";
import { Standby } from "./standby.js";
import { Term } from "./term.js";

/** A term before its begin, and for how long its candidate had known of no live leader. */
interface ElectedTerm {
  readonly term: Term;
  readonly gapMs: number | undefined;
}

/**
 * One candidate for the leadership of a name. At most one candidate leads at a time, in any number of processes.
 *
 * Mutual exclusion is **not** promised: see {@link Lease}. A dead leader is replaced within the failover time, a
 * resigned leader within a poll. In a format of another client, leading a name means holding that client's lock.
 *
 * Two `Election` objects of the same name are two candidates. A candidate has at most one term at a time.
 */
export class Election<S extends FormatTypes = NativeTypes> {
  /** The election's name. */
  readonly name: string;
  readonly #candidate: Candidate;
  #term: Term | undefined;
  #isBusy = false;
  /** When this candidate resigned its last term, on the monotonic clock; undefined after a loss. */
  #resignedAtMs: number | undefined;

  /** @internal Made by {@link election} and {@link leaderTasks}. */
  constructor(
    { context, defaultOwner, running }: ClientParts,
    name: S["name"],
    options: ElectionOptions,
  ) {
    const ref = refOf(context.format, name, "leader");
    this.name = ref.name;
    if (options.preferred === true)
      requireCapability(context.format, REQUESTS, "preferred candidates");
    const settings = resolveElection(
      options,
      defaultOwner,
      context.settings.maxClockDrift,
      context.format.facts.defaults?.keepData,
    );
    this.#candidate = candidateOf({ context, running }, ref, settings);
  }

  /**
   * Stands by until this candidate is elected, without a time limit. Retries while the table does not answer or refuses
   * the credentials. The term lasts until the candidate resigns, loses the lease, or closes the client. Costs half a read
   * unit a poll, at most a fifth more, and one write. Rejects with the reason of `signal`, or with `closed`,
   * `misconfigured`, `foreign-record` or `unsupported-layout`. Throws `invalid-argument`, also while this candidate
   * already campaigns or leads.
   */
  async campaign(options: CampaignOptions<S> = {}): Promise<Lease<S>> {
    const ending = this.#occupy(checkNames("campaign()", options, CAMPAIGN_NAMES));
    try {
      const term = this.#begin(
        await this.#elected(ending.signal, options.value, () => {
          this.#isBusy = false;
        }),
      );
      return term as HeldLease as unknown as Lease<S>;
    } catch (error) {
      this.#isBusy = false;
      throw error;
    } finally {
      ending.dispose();
    }
  }

  /**
   * Campaigns, runs `body` during each term, and campaigns again. `body` receives the term. The signal of the
   * term aborts when `body` must end. A term is released only after `body` has ended; returning from `body` resigns.
   * After a resignation the candidate waits two polls before campaigning again. Resolves after `signal` aborts or the
   * client closes, and `body` has ended; with `again: false`, after a single term. Rejects with the error of `body`. If
   * the signal had aborted before the error, the error goes to the client's `onError` instead, unless it is the signal's
   * reason or an `AbortError`. Other errors as in {@link Election.campaign}.
   */
  async lead(body: LeaderBody<S>): Promise<void>;
  async lead(options: LeadOptions<S>, body: LeaderBody<S>): Promise<void>;
  async lead(
    ...given: [body: LeaderBody<S>] | [options: LeadOptions<S>, body: LeaderBody<S>]
  ): Promise<void> {
    const [options, body] = given.length === 1 ? [{}, given[0]] : given;
    if (typeof body !== "function") {
      throw refuse("The last argument of lead() must be the body, a function.");
    }
    checkNames("lead()", options, LEAD_NAMES);
    const ending = this.#occupy(options);
    const ended = this.#leadUntil(ending.signal, options, body);
    const leading = {
      ended: ended.catch(() => undefined),
      forsake: () => this.#term?.forsake(),
    };
    this.#candidate.running.add(leading);
    try {
      await ended;
    } finally {
      this.#candidate.running.delete(leading);
      this.#isBusy = false;
      ending.dispose();
    }
  }

  /**
   * Ends the current term of this candidate, if any: see {@link Lease.release}. Under `lead()` with `again`, the
   * candidate campaigns again two polls later.
   */
  async resign(): Promise<void> {
    await this.#term?.release();
  }

  /**
   * Asks the current leader, in any process, to resign. Writes the request to the record; the leader reads it at its
   * next renewal. Resolves to true if the term ended within the wait, or if no candidate led. After false the request
   * remains: the leader may still resign later. Costs a read, a write, and some reads while waiting. Rejects with
   * `closed`, `unreachable`, `throttled` and the like, and with `invalid-argument` if the format does not support requests.
   */
  async requestResign(options: RequestResignOptions = {}): Promise<boolean> {
    const waitMs = resolveWait(options);
    requireCapability(this.#candidate.context.format, REQUESTS, "requests to resign");
    if (this.#candidate.context.isUnlocked) {
      this.#term?.end("it was asked to resign");
      return this.#term?.isOver !== false;
    }
    // Without the end of the client the wait would last on after `close()`, with its reads.
    const ending = new Ending(this.#candidate.context.closing, this.name, options.signal);
    const watch = new OutageWatch(this.#candidate.context);
    try {
      return await askToResign(this.#candidate, waitMs, ending.signal, watch);
    } finally {
      watch.dispose();
      ending.dispose();
    }
  }

  /**
   * Reads the current leader from the record. The answer is no proof. Costs one read unit. Rejects with coded errors.
   */
  leader(): Promise<LeaderInfo<S>> {
    return leaderNow(this.#candidate, this.#term) as Promise<LeaderInfo<S>>;
  }

  /**
   * Yields the leader, at first and after every change of leader or value. Costs half a read unit a poll; in a format
   * without fences, one unit. A change shorter than a poll may be missed. An earlier term is never yielded after a
   * later term. Retries while the table does not answer or refuses the credentials; ends when `signal` aborts or
   * the client closes. Throws `misconfigured`, `foreign-record` or `unsupported-layout`.
   */
  async *observe(
    options: { readonly signal?: AbortSignal | undefined } = {},
  ): AsyncGenerator<LeaderInfo<S>> {
    checkNames("observe()", options, { signal: true });
    const ending = new Ending(this.#candidate.context.closing, this.name, options.signal);
    try {
      const seen = observe(this.#candidate, () => this.#term, ending.signal);
      yield* seen as AsyncGenerator<LeaderInfo<S>>;
    } finally {
      ending.dispose();
    }
  }

  /**
   * Publishes a value to observers while this candidate leads: see {@link Lease.update}. Rejects with `not-acquired`
   * if the candidate does not lead.
   */
  async proclaim(value: S["data"] | undefined): Promise<void> {
    const term = this.#term;
    if (term === undefined || !term.isLeading) {
      throw new HoldfastError(
        "not-acquired",
        `This candidate does not lead "${this.name}", so it cannot proclaim a value. Proclaim during a term.`,
        { lockName: this.name },
      );
    }
    await term.update(value);
  }

  /** Whether this candidate leads now, by the clocks. Costs no request. */
  get isLeader(): boolean {
    return this.#term?.isLeading === true;
  }

  /** This candidate's term, until released or lost. Costs no request. */
  get term(): Lease<S> | undefined {
    const term: HeldLease | undefined = this.#term?.isOver === true ? undefined : this.#term;
    return term as unknown as Lease<S> | undefined;
  }

  /**
   * Calls `listener` with each {@link LeadershipChange} of this candidate, in order. Errors of `listener` go to the
   * client's `onError`. Returns a function that removes the listener. Costs no request. Throws `invalid-argument`.
   */
  onTransition(listener: (transition: LeadershipChange<S>) => void): () => void {
    checkFunction("onTransition()", listener);
    return this.#candidate.monitor.onTransition(
      listener as (change: LeadershipChange<FormatTypes>) => void,
    );
  }

  /** @internal For leader tasks and the command line. */
  get candidate(): Candidate {
    return this.#candidate;
  }

  #occupy(options: CampaignOptions<S>): Ending {
    const { context } = this.#candidate;
    if (options.value !== undefined) context.format.codec.checkData(options.value);
    if (context.closing.aborted) throw closedError(this.name);
    if (this.#isBusy) {
      throw new HoldfastError(
        "invalid-argument",
        `This candidate for "${this.name}" already campaigns or leads. For another candidate, ` +
          `call election(client, "${this.name}") again.`,
        { lockName: this.name },
      );
    }
    this.#isBusy = true;
    return new Ending(context.closing, this.name, options.signal);
  }

  async #leadUntil(
    signal: AbortSignal,
    options: LeadOptions<S>,
    body: LeaderBody<S>,
  ): Promise<void> {
    while (!signal.aborted) {
      const elected = await this.#electedUnless(signal, options.value);
      if (elected === undefined) return;
      const term = this.#begin(elected);
      await govern(term, signal, body as LeaderBody, this.#candidate.report);
      if (options.again === false) return;
    }
  }

  async #electedUnless(
    signal: AbortSignal,
    value: S["data"] | undefined,
  ): Promise<ElectedTerm | undefined> {
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
  ): Promise<ElectedTerm> {
    const candidate = this.#candidate;
    let term: Term | undefined;
    const standby = new Standby(candidate, {
      data: value,
      signal,
      resignedAtMs: this.#resignedAtMs,
      onRenewal: (record) => {
        if (term !== undefined) this.#renewed(term, record);
      },
    });
    const { lease, gapMs } = await standby.run();
    term = new Term(lease, candidate.monitor, () => {
      // After a loss the record says since when no leader renewed.
      this.#resignedAtMs = lease.hold.loss !== undefined ? undefined : candidate.context.nowMs();
      onOver();
    });
    return { term, gapMs };
  }

  #begin({ term, gapMs }: ElectedTerm): Term {
    this.#term = term;
    term.begin(gapMs);
    return term;
  }

  #renewed(term: Term, record: HeldRecord | undefined): void {
    const { monitor, settings } = this.#candidate;
    monitor.renewal(term.fence, record !== undefined, term.remainingMs());
    const request = record?.request;
    if (request?.holder !== term.holder) return;
    if (request.kind === "resign") term.end("it was asked to resign");
    else if (request.kind === "prefer" && !settings.preferred) {
      term.end("a preferred candidate stands by");
    }
  }
}

/**
 * Returns one candidate for the leadership of this name. An election and a lock of the same name are
 * independent, except in the formats of other clients. The client's lengths of time do not apply to an
 * election. Costs no request. Throws `invalid-argument`.
 */
export function election<S extends FormatTypes = NativeTypes>(
  client: Holdfast<S>,
  name: S["name"],
  options: ElectionOptions = {},
): Election<S> {
  const parts = partsOf(client, "election()");
  return new Election<S>(parts, name, checkNames("election()", options, ELECTION_NAMES));
}
