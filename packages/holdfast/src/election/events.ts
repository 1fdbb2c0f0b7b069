import type { FormatTypes, NativeTypes } from "../core/record/format-types.js";
import type { LossReason } from "../errors.js";
import { serialisable } from "../internal/printed.js";
import { tell } from "../internal/tell.js";
import { publish } from "../platform/diagnostics.js";

/** The names of the channels of `node:diagnostics_channel` that elections publish to. */
export const ELECTION_CHANNELS = /* @__PURE__ */ Object.freeze({
  /** {@link LeadershipChange}: a candidate became leader, or stopped leading. */
  transition: "holdfast:election:transition",
  /** {@link RenewalEvent}: the result of a leader's renewal. */
  renewal: "holdfast:election:renewal",
  /** {@link NoLeaderEvent}: a standby candidate knows of no live leader. */
  gap: "holdfast:election:gap",
  /** {@link TaskRunEvent}: a task's run begins, ends, fails, or is late. */
  tick: "holdfast:election:tick",
});

/**
 * One change of a candidate's own state, published once.
 * - `elected`: the grant was acknowledged in time; published before `campaign()` resolves or the body runs. The candidate
 *   leads already, so that a listener may proclaim a value or resign.
 * - `resigned`: the leader gave up the term; published after the body has ended, and the release was acknowledged or had
 *   no answer within twice the request timeout.
 * - `lost`: published at the first check after the deadline, by the timer at the deadline, or when an answer shows the
 *   loss, whichever comes first. A term ends as resigned or lost, never both.
 */
export interface LeadershipChange<S extends FormatTypes = NativeTypes> {
  readonly kind: "elected" | "resigned" | "lost";
  /** The election's name. */
  readonly name: string;
  /** The candidate's label. */
  readonly owner: string;
  /** The fence of the term; undefined in a format without fences. */
  readonly term: S["fence"];
  /**
   * With `elected`: milliseconds since this candidate last knew of a live leader, as {@link NoLeaderEvent.gapMs}. At most a
   * poll longer than the time without a leader; 0 at a first election, and undefined if the candidate found no gap.
   */
  readonly gapMs: number | undefined;
  /** With `lost`: the reason. */
  readonly reason: LossReason | undefined;
}

/** The result of one renewal of a leader. */
export interface RenewalEvent<S extends FormatTypes = NativeTypes> {
  readonly name: string;
  readonly owner: string;
  readonly term: S["fence"];
  /** Whether DynamoDB answered. An unanswered renewal moves no deadline, and is retried. */
  readonly isAnswered: boolean;
  /** Milliseconds left until the deadline. */
  readonly remainingMs: number;
}

/**
 * A standby candidate knows of no live leader.
 *
 * Published at every poll while this lasts, and once more, with `isOver`, when the candidate becomes leader.
 */
export interface NoLeaderEvent {
  readonly name: string;
  readonly owner: string;
  /**
   * `vacant`: no candidate leads. `silent`: the leader has not renewed for longer than its lease. `unreachable`:
   * DynamoDB does not answer this candidate.
   */
  readonly cause: "vacant" | "silent" | "unreachable";
  /**
   * Milliseconds since the last read that showed a leader (`vacant`), since the leader's last renewal (`silent`), or since
   * the last answer (`unreachable`). A candidate that has just started counts `vacant` from its first read, and `silent`
   * from the end of the lease in the record.
   */
  readonly gapMs: number;
  readonly isOver: boolean;
}

/** One step of a task's run. */
export interface TaskRunEvent<S extends FormatTypes = NativeTypes> {
  /** The election's name. */
  readonly name: string;
  readonly worker: string;
  readonly term: S["fence"];
  /**
   * `start`, `end` and `error` are published once for each run; `overdue` once for each run that has not begun two
   * intervals after its due time; `wedged` once for each run that continues after its signal aborted.
   */
  readonly phase: "start" | "end" | "error" | "overdue" | "wedged";
  /** Milliseconds from the due time to the start of the run, or to this event if the run has not begun. */
  readonly lateMs: number;
  /** Milliseconds since the run began; 0 with `start` and `overdue`. */
  readonly ranMs: number;
  /** With `error`: the error of the run. */
  readonly error: unknown;
}

/** Publishes the events of one election to its channels and listeners. */
export class Monitor {
  readonly name: string;
  readonly owner: string;
  /** Reports an error that no caller can receive. */
  readonly report: (cause: unknown) => void;
  readonly #listeners = new Set<(transition: LeadershipChange<FormatTypes>) => void>();

  constructor(name: string, owner: string, report: (cause: unknown) => void) {
    this.name = name;
    this.owner = owner;
    this.report = report;
  }

  onTransition(listener: (transition: LeadershipChange<FormatTypes>) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  transition(
    kind: LeadershipChange["kind"],
    term: bigint | undefined,
    more: { readonly gapMs?: number | undefined; readonly reason?: LossReason | undefined } = {},
  ): void {
    const { name, owner } = this;
    const { gapMs, reason } = more;
    const made = (): LeadershipChange<FormatTypes> => ({ kind, name, owner, term, gapMs, reason });
    publish(ELECTION_CHANNELS.transition, made);
    if (this.#listeners.size === 0) return;
    const change = serialisable(made());
    for (const listener of this.#listeners) {
      // An error of a listener must neither hide a change from further listeners nor end a term.
      tell(listener, change, this.report);
    }
  }

  renewal(term: bigint | undefined, isAnswered: boolean, remainingMs: number): void {
    publish(ELECTION_CHANNELS.renewal, (): RenewalEvent<FormatTypes> => {
      return { name: this.name, owner: this.owner, term, isAnswered, remainingMs };
    });
  }

  gap(cause: NoLeaderEvent["cause"], gapMs: number, isOver: boolean): void {
    publish(ELECTION_CHANNELS.gap, (): NoLeaderEvent => {
      return { name: this.name, owner: this.owner, cause, gapMs, isOver };
    });
  }

  tick(event: () => Omit<TaskRunEvent<FormatTypes>, "name">): void {
    publish(
      ELECTION_CHANNELS.tick,
      (): TaskRunEvent<FormatTypes> => ({ name: this.name, ...event() }),
    );
  }
}
