import { channel } from "node:diagnostics_channel";

/**
 * Tells whoever subscribed to a channel of `node:diagnostics_channel`; free where nobody did. What a
 * subscriber throws becomes an uncaught exception of its own, and never comes back here.
 */
export function publish(channelName: string, message: object): void {
  const found = channel(channelName);
  if (found.hasSubscribers) found.publish(message);
}
