import {
  causeText,
  LEASE_CHANNELS,
  listenTo,
  type PositionEvent,
  shown,
  systemTimers,
  type WaitEvent,
} from "holdfast/internal";
import type { Output } from "./output/output.js";

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
 * the note has been written and no answer has come since.
 */
export function noteSilence(client: Observed, what: string, output: Output): () => boolean {
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

/**
 * Notes, once and after two seconds, who holds the lock that a command waits for. Returns a function that ends the
 * observation.
 */
export function noteHolder(output: Output): () => void {
  let latest = "";
  const timer = systemTimers.set(PATIENCE_MS, false, () => {
    if (latest !== "") output.note(`Waiting: ${latest}.`);
  });
  const ends = [
    listenTo(LEASE_CHANNELS.wait, (message) => {
      const { name, heldBy } = message as WaitEvent;
      latest = `${shown(heldBy ?? "another client")} holds "${shown(name)}"`;
    }),
    listenTo(LEASE_CHANNELS.position, (message) => {
      const { name, position } = message as PositionEvent;
      if (position === 0) return;
      const who = position === 1 ? "1 waiter is" : `${position} waiters are`;
      latest = `${who} ahead in the queue of "${shown(name)}"`;
    }),
  ];
  return () => {
    timer.cancel();
    for (const end of ends) end();
  };
}
