import { type Holdfast, partsOf } from "../client.js";
import { SESSION_NAMES } from "../client-options.js";
import { type AcquireOptions, resolveAcquire } from "../core/options.js";
import { requireCapability } from "../core/record/capability.js";
import type { FormatTypes } from "../core/record/format-types.js";
import { SessionKeepAlive } from "../core/session/keep-alive.js";
import { Session } from "../core/session/session.js";
import { checkNames, refuse } from "../internal/option-names.js";
import { SESSIONS } from "../native/native-sessions.js";

/**
 * Opens a session, which keeps any number of locks alive: `mutex(client, name, { session })`. All these locks
 * together cost one renewal, a single write, a period. Costs two writes. If the table cannot be written to
 * for as long as `wait`, the call rejects as {@link Lock.acquire} does. Throws `invalid-argument`.
 */
export async function openSession(
  client: Holdfast<FormatTypes>,
  options: Pick<AcquireOptions, "lease" | "renew" | "wait" | "owner" | "signal"> = {},
): Promise<Session> {
  const { context, clientOptions, defaultOwner } = partsOf(client, "openSession()");
  requireCapability(context.format, SESSIONS);
  checkNames("openSession()", options, SESSION_NAMES);
  const settings = resolveAcquire([options, clientOptions], defaultOwner);
  if (settings.renewMs === "manual") {
    throw refuse(
      "The option `renew` of a session must be a duration: the client renews a session itself.",
    );
  }
  return new Session(context, await SessionKeepAlive.open(context, settings));
}
