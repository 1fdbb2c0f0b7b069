import { randomBytes } from "node:crypto";
import { connect } from "node:net";
import type { Timers } from "../platform/timers.js";
import { encodeFrame, TOKEN_BYTES } from "./frames.js";
import type { Endpoint } from "./options.js";

/**
 * What is at an address:
 * - `client`: a client with `ring()`, as it seems: it listens, and ends a connection with a wrong token.
 * - `refused`: nothing listens.
 * - `closes`: a connection ends before a word was said. So does a proxy or a port mapping with nothing behind it.
 * - `other`: a service of another kind.
 * - `silent`: no connection, and no refusal.
 * - `unreachable`: the network or the name service refuses.
 */
export type Reach = "client" | "refused" | "closes" | "other" | "silent" | "unreachable";

/** What was found, and how long the connection took, in milliseconds; undefined without a connection. */
export interface Reached {
  readonly reach: Reach;
  readonly openedMs: number | undefined;
}

/** How long the connection may take to open, and to end. */
export const REACH_MS = 2_000;
/** A client waits longer than this for the first frame. */
const QUIET_MS = 300;

/**
 * Connects to an address, and says a token that no client has: it tells no holder that somebody waits. Takes at most
 * {@link REACH_MS} twice. Never rejects.
 */
export function reach(endpoint: Endpoint, timers: Timers, nowMs: () => number): Promise<Reached> {
  return new Promise((resolve) => {
    const startMs = nowMs();
    const socket = connect({ ...endpoint });
    let openedMs: number | undefined;
    let hasSpoken = false;
    const end = (found: Reach): void => {
      timer.cancel();
      socket.destroy();
      resolve({ reach: found, openedMs });
    };
    let timer = timers.set(REACH_MS, true, () => end("silent"));
    socket.once("connect", () => {
      openedMs = nowMs() - startMs;
      timer.cancel();
      timer = timers.set(QUIET_MS, true, () => {
        hasSpoken = true;
        const token = randomBytes(TOKEN_BYTES).toString("base64url");
        socket.write(encodeFrame({ kind: "wait", token }));
        timer = timers.set(REACH_MS, true, () => end("other"));
      });
    });
    socket.on("data", () => end("other"));
    socket.on("error", ({ code }: NodeJS.ErrnoException) => {
      if (openedMs === undefined) end(code === "ECONNREFUSED" ? "refused" : "unreachable");
    });
    socket.once("close", () => end(hasSpoken ? "client" : "closes"));
  });
}
