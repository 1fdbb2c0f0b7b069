import type { Hold } from "../hold/hold.js";
import type { KeepAliveSource } from "../hold/keep-alive.js";
import type { SessionKeepAlive } from "./keep-alive.js";

/** What keeps the leases on a session alive. */
type Life = SessionKeepAlive & KeepAliveSource<Hold>;

// Apart from the class of the handle, which a lock without a session does not need.
const lives = new WeakMap<object, Life>();

/** Notes what keeps the leases on a session alive. */
export function setLife(session: object, life: Life): void {
  lives.set(session, life);
}

/** Returns what keeps the leases on a session alive, or undefined if the value is no session. */
export function lifeOf(session: object): Life | undefined {
  return lives.get(session);
}
