import type { RingChoice } from "../core/options.js";
import { refuse } from "../internal/option-names.js";
import { ringOver } from "./client-rings.js";
import { localSockets } from "./local.js";
import { type RingOptions, type RingsOnly, resolveRing } from "./options.js";
import { SocketPort } from "./sockets.js";
import { tcpSockets } from "./tcp.js";

/**
 * Returns the value of the option `ring` of a client: its records and its places in queues then say where it listens, those
 * who wait tell it so, and it rings them when it releases. So a lock passes to a waiter of another process without a poll:
 * two requests, the release and the claim. `"local"`: over sockets in a folder of the user, between the processes of one
 * user on one machine. `{ listen: false }`: the client rings others, and is never rung.
 *
 * Not promised: that a ring arrives. A ring is a hint; only the record grants. If no one can connect, all is as without
 * rings. Requests of `ifHeld` reach a holder with a ring at once, too. See docs/ring.md. Costs no request and about 100 bytes
 * a record. Throws `invalid-argument`; a client that cannot listen tells its `onError`.
 */
export function ring(options: "local" | RingOptions | RingsOnly): RingChoice {
  if (options === "local") {
    return ringOver((client) => new SocketPort(client, localSockets(client.random.id())));
  }
  if (typeof options === "string") {
    throw refuse(
      `The argument of ring() must be "local" or options; it is ${JSON.stringify(options)}.`,
    );
  }
  const listening = resolveRing(options);
  return ringOver((client) => new SocketPort(client, tcpSockets(listening)));
}
