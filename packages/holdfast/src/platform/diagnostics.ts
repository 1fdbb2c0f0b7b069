import { channel, subscribe, unsubscribe } from "node:diagnostics_channel";
import { inspect } from "node:util";
import { serialisable } from "../internal/printed.js";
import { visible } from "../internal/shown.js";

let isPrinting: boolean | undefined;

/** Whether `HOLDFAST_DEBUG` asks for a line on stderr for each message. Asks the environment once. */
function prints(): boolean {
  try {
    isPrinting ??= Boolean(process.env["HOLDFAST_DEBUG"]);
  } catch {
    // A runtime may refuse to show the environment.
    isPrinting = false;
  }
  return isPrinting;
}

/**
 * Publishes a message on a channel of `node:diagnostics_channel`. Without a subscriber the message is not
 * created. An exception of a subscriber becomes an uncaught exception and never reaches the publisher.
 */
export function publish(channelName: string, message: () => object): void {
  const found = channel(channelName);
  if (!found.hasSubscribers && !prints()) return;
  const told = serialisable(message());
  if (prints()) {
    const text = inspect(told, { breakLength: Number.POSITIVE_INFINITY });
    process.stderr.write(`${new Date().toISOString()} ${channelName} ${visible(text)}\n`);
  }
  found.publish(told);
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
