import { channel, subscribe, unsubscribe } from "node:diagnostics_channel";
import { serialisable } from "../internal/printed.js";

/**
 * Publishes a message on a channel of `node:diagnostics_channel`. Without a subscriber the message is not
 * created. An exception of a subscriber becomes an uncaught exception and never reaches the publisher.
 */
export function publish(channelName: string, message: () => object): void {
  const found = channel(channelName);
  if (found.hasSubscribers) found.publish(serialisable(message()));
}

/** Subscribes to a channel. Returns a function that ends the subscription. */
export function listenTo(channelName: string, told: (message: unknown) => void): () => void {
  subscribe(channelName, told);
  return () => void unsubscribe(channelName, told);
}

/** Whether the channel has subscribers. Publishers check this before they compute an expensive message. */
export function hasSubscribers(channelName: string): boolean {
  return channel(channelName).hasSubscribers;
}
