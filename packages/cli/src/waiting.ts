import type { AcquireOptions } from "holdfast";
import type { RequestEvent } from "holdfast/events";
import {
  causeText,
  LEASE_CHANNELS,
  listenTo,
  type PositionEvent,
  shown,
  systemTimers,
  type Timer,
} from "holdfast/internal";
import { monotonicMs } from "./commands/clocks.js";
import { type Output, seconds } from "./output/output.js";

/** Writes to stderr what a command waits for. Without these notes, a wrong endpoint looks like a long wait. */

// Longer than any request or takeover without a fault.
const PATIENCE_MS = 2_000;

/** The part of an SDK client that is observed. */
interface Observed {
  readonly middlewareStack: { add(middleware: never, options: never): void };
}

interface Sending {
  readonly request?: {
    readonly protocol?: string;
    readonly hostname?: string;
    readonly port?: number;
  };
}

/**
 * Notes, once and after two seconds, that the client's first requests are not answered. Costs no request. Returns whether
 * the note has been written and no answer has come since. Writes `first` before the first request: a command that is wrong
 * usage sends none.
 */
export function noteSilence(
  client: Observed,
  what: string,
  output: Output,
  first?: string,
): () => boolean {
  let isAnswered = false;
  let isSent = false;
  let isNoted = false;
  let place = "";
  let cause = "";
  const tell = (): void => {
    if (isAnswered || !isSent) return;
    isNoted = true;
    output.note(
      `No answer from ${what}${place} for 2 s${cause}. Trying again until the wait ends.`,
    );
  };
  const observe =
    (next: (args: Sending) => Promise<unknown>) =>
    async (args: Sending): Promise<unknown> => {
      const { protocol, hostname, port } = args.request ?? {};
      if (hostname !== undefined) {
        place = ` at ${protocol}//${hostname}${port === undefined ? "" : `:${port}`}`;
      }
      if (!isSent && first !== undefined) output.note(first);
      isSent = true;
      try {
        const result = await next(args);
        isAnswered = true;
        return result;
      } catch (error) {
        const { $metadata } = error as { $metadata?: { httpStatusCode?: number } };
        if ($metadata?.httpStatusCode !== undefined) isAnswered = true;
        cause = causeText(error);
        throw error;
      }
    };
  const how = { name: "holdfastNote", step: "finalizeRequest", priority: "low", override: true };
  client.middlewareStack.add(observe as never, how as never);
  systemTimers.set(PATIENCE_MS, false, tell);
  return () => isNoted && !isAnswered;
}

/** Notes what a command waits for. */
interface WaitNote {
  /** Whether the wait has begun: whether a request had the outcome that it follows. */
  readonly hasBegun: boolean;
  /** Ends the note. */
  end(): void;
}

/** Notes a text, once, two seconds after the wait for others has begun: with a request of this outcome, maybe after an outage. */
export function noteWait(output: Output, after: "found" | "applied", text: string): WaitNote {
  let timer: Timer | undefined;
  const end = listenTo(LEASE_CHANNELS.request, (message) => {
    if ((message as RequestEvent).outcome !== after) return;
    timer ??= systemTimers.set(PATIENCE_MS, false, () => output.note(text));
  });
  return {
    get hasBegun() {
      return timer !== undefined;
    },
    end: () => {
      timer?.cancel();
      end();
    },
  };
}

/** What a call tells while it waits. */
type WaitSeen = Parameters<NonNullable<AcquireOptions["onWait"]>>[0];

/** Notes who holds what a command waits for. */
export interface HolderNotes {
  readonly onWait: (seen: WaitSeen) => void;
  /** Ends the notes. */
  end(): void;
}

/**
 * Notes after two seconds, and again each ten seconds, who holds the lock that a command waits for: for how long the holder
 * was silent, and when a takeover is due.
 */
export function noteHolder(output: Output): HolderNotes {
  let held: string | undefined;
  let seen: WaitSeen | undefined;
  let seenAtMs = 0;
  let ahead = 0;
  const note = (): void => {
    const facts: string[] = [];
    const name = `"${shown(seen?.lockName ?? held ?? "")}"`;
    if (ahead > 0) {
      facts.push(
        `${ahead === 1 ? "1 waiter is" : `${ahead} waiters are`} ahead in the queue of ${name}`,
      );
    }
    if (seen !== undefined) facts.push(holderText(seen, monotonicMs() - seenAtMs));
    if (facts.length > 0) output.note(`Waiting: ${facts.join("; ")}.`);
  };
  const timer = systemTimers.set(PATIENCE_MS, false, note);
  const end = listenTo(LEASE_CHANNELS.position, (message) => {
    const { name, position } = message as PositionEvent;
    held = name;
    ahead = position;
  });
  return {
    onWait: (wait) => {
      seen = wait;
      seenAtMs = monotonicMs();
      if (wait.sinceMs >= PATIENCE_MS) note();
    },
    end: () => {
      timer.cancel();
      end();
    },
  };
}

/** Says who holds a lock, as a call saw it `agoMs` ago. */
function holderText(
  { lockName, owner, silentMs, acquirableInMs }: WaitSeen,
  agoMs: number,
): string {
  const holds = `${shown(owner ?? "another client")} holds "${shown(lockName)}"`;
  if (silentMs === undefined || acquirableInMs === undefined) return holds;
  // An older observation does not say that the holder was silent since.
  const silent = agoMs < PATIENCE_MS / 2 ? `, silent for ${seconds(silentMs)}` : "";
  const due = seconds(Math.max(0, acquirableInMs - agoMs));
  return `${holds}${silent}; a takeover is due in ${due} if it does not renew`;
}
