import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { ELECTION_CHANNELS } from "../../packages/holdfast/src/events/index.js";

/** The messages of a channel since the subscription. */
export interface Heard<T> {
  readonly events: readonly T[];
  stop(): void;
}

/** Subscribes to a channel of elections. */
export function listen<T>(channel: keyof typeof ELECTION_CHANNELS): Heard<T> {
  const events: T[] = [];
  const note = (message: unknown): void => {
    events.push(message as T);
  };
  subscribe(ELECTION_CHANNELS[channel], note);
  return { events, stop: () => unsubscribe(ELECTION_CHANNELS[channel], note) };
}
