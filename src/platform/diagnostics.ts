import { channel, subscribe, unsubscribe } from "node:diagnostics_channel";

/**
 * Tells whoever subscribed to a channel of `node:diagnostics_channel`; where nobody did, the message is
 * not even made. What a
 * subscriber throws becomes an uncaught exception of its own, and never comes back here.
 */
export function publish(channelName: string, message: () => object): void {
  const found = channel(channelName);
  if (found.hasSubscribers) found.publish(message());
}

/** Listens to a channel until the function that it answers is called. */
export function listenTo(channelName: string, told: (message: unknown) => void): () => void {
  subscribe(channelName, told);
  return () => void unsubscribe(channelName, told);
}

/** Whether anybody listens: for what costs something to find out before it is told. */
export function hasSubscribers(channelName: string): boolean {
  return channel(channelName).hasSubscribers;
}
