import type { ClientContext } from "./context.js";
import { type Decision, decideBySession } from "./record/decide.js";
import type { OnSession } from "./record/record.js";

/**
 * Decides whether a holder on a session is dead: `take-over` means that its session has ended. This client's own sessions
 * need no observation.
 */
export function decideHolder(
  context: ClientContext,
  { holder, fence, session, leaseMs }: OnSession,
  now = context.circumstances(),
): Decision {
  if (context.ownSessions.has(session)) {
    return { kind: "wait", acquirableAtMs: Number.POSITIVE_INFINITY };
  }
  const takeOver = { kind: "take-over", holder, version: fence, session } as const;
  return decideBySession(leaseMs, session, takeOver, now);
}
