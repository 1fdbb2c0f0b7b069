import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { ELECTION_CHANNELS } from "../../src/index.js";

/** What was published on one channel since it was asked to listen. */
export interface Heard<T> {
  readonly events: readonly T[];
  stop(): void;
}

/** Listens to one of the channels of elections. */
export function listen<T>(channel: keyof typeof ELECTION_CHANNELS): Heard<T> {
  const events: T[] = [];
  const note = (message: unknown): void => {
    events.push(message as T);
  };
  subscribe(ELECTION_CHANNELS[channel], note);
  return { events, stop: () => unsubscribe(ELECTION_CHANNELS[channel], note) };
}
