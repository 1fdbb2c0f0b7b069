import type { FormatTypes, NativeTypes } from "../core/record/format-types.js";
import type { LossReason } from "../errors.js";
import { publish } from "../platform/diagnostics.js";

/** The names of the channels of `node:diagnostics_channel` that elections publish to. */
export const ELECTION_CHANNELS = Object.freeze({
  /** {@link Transition}: a candidate became leader, or is leader no longer. */
  transition: "holdfast:election:transition",
  /** {@link RenewalEvent}: what became of one renewal. */
  renewal: "holdfast:election:renewal",
  /** {@link NoLeaderEvent}: a candidate that stands by knows of no live leader. */
  gap: "holdfast:election:gap",
  /** {@link TaskRunEvent}: a worker's run begins, ends, fails, or does not begin. */
  tick: "holdfast:election:tick",
});

/**
 * One change of a candidate's own state, told once.
 * - `elected`: its grant was answered in time; told before `campaign()` resolves or the body is called.
 * - `resigned`: its release was answered; told after the body has ended.
 * - `lost`: told at the first question after the deadline, by timer at the deadline, or when an answer
 *   shows it, whichever is first. A term is told resigned or lost, never both.
 */
export interface Transition<S extends FormatTypes = NativeTypes> {
  readonly kind: "elected" | "resigned" | "lost";
  /** The election. */
  readonly name: string;
  /** The candidate's label. */
  readonly owner: string;
  /** The fence of the term; undefined in a format whose grants are not numbered. */
  readonly term: S["fence"];
  /** With `elected`: for how long, in milliseconds, this candidate had known of no live leader. */
  readonly gapMs: number | undefined;
  /** With `lost`: why. */
  readonly reason: LossReason | undefined;
}

/** What became of one renewal of a leader. */
export interface RenewalEvent<S extends FormatTypes = NativeTypes> {
  readonly name: string;
  readonly owner: string;
  readonly term: S["fence"];
  /** Whether it was answered; one that was not moves no deadline, and is sent again. */
  readonly isAnswered: boolean;
  /** Milliseconds left until the deadline. */
  readonly remainingMs: number;
}

/**
 * That a candidate which stands by knows of no live leader, told at every look as long as that lasts,
 * and once more when it has become leader itself, with `isOver`.
 */
export interface NoLeaderEvent {
  readonly name: string;
  readonly owner: string;
  /**
   * `vacant`: nobody leads. `silent`: the leader has not renewed for longer than its lease.
   * `unreachable`: nobody answers this candidate, so it cannot know.
   */
  readonly cause: "vacant" | "silent" | "unreachable";
  /** For how long, in milliseconds: since it was seen vacant, the last renewal, or the last answer. */
  readonly gapMs: number;
  readonly isOver: boolean;
}

/** One step of a worker's run. */
export interface TaskRunEvent<S extends FormatTypes = NativeTypes> {
  /** The coordinator's election. */
  readonly name: string;
  readonly worker: string;
  readonly term: S["fence"];
  /**
   * `start`, `end` and `error` are told once for each run; `overdue` once for each run that has not
   * begun two intervals after it was due; `wedged` once for each run that goes on although it was told
   * to stop.
   */
  readonly phase: "start" | "end" | "error" | "overdue" | "wedged";
  /** How long after it was due it began, or has not begun, in milliseconds. */
  readonly lateMs: number;
  /** For how long it has run, in milliseconds; 0 with `start` and `overdue`. */
  readonly ranMs: number;
  /** With `error`: what it rejected with. */
  readonly error: unknown;
}

/** Tells what happens in one election, to its channels and its listeners. */
export class Monitor {
  readonly name: string;
  readonly owner: string;
  /** Where an error goes that has no caller to go to. */
  readonly report: (cause: unknown) => void;
  readonly #listeners = new Set<(transition: Transition<FormatTypes>) => void>();

  constructor(name: string, owner: string, report: (cause: unknown) => void) {
    this.name = name;
    this.owner = owner;
    this.report = report;
  }

  onTransition(listener: (transition: Transition<FormatTypes>) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  transition(
    kind: Transition["kind"],
    term: bigint | undefined,
    more: { readonly gapMs?: number | undefined; readonly reason?: LossReason | undefined } = {},
  ): void {
    const { name, owner } = this;
    const { gapMs, reason } = more;
    const made = (): Transition<FormatTypes> => ({ kind, name, owner, term, gapMs, reason });
    publish(ELECTION_CHANNELS.transition, made);
    if (this.#listeners.size === 0) return;
    const told = made();
    for (const listener of this.#listeners) {
      // What a listener throws must neither hide a transition from others nor end a term.
      try {
        listener(told);
      } catch (cause) {
        this.report(cause);
      }
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
