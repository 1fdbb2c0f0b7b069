import type { Checker } from "../../checker.js";
import type { Timed, Violation } from "../../history.js";

// The rounding of timers.
const SLACK_MS = 20;
// The time counts from the first send of the grant; the answer comes within the timeout of a request.
const GRANT_MS = 1_000;

/** No holder acts after its longest time, and without faults none loses the lease for that earlier. */
export const longest: Checker = (history, { isExclusive, maxClockDrift, losesNothing }) => {
  if (!isExclusive) return [];
  const found: Violation[] = [];
  const limits = new Map<string, { readonly maxHoldMs: number; grantedMs?: number }>();
  const report = ({ atMs }: Timed, what: string): void => {
    found.push({ invariant: "longest", atMs, what });
  };
  for (const event of history) {
    if (event.kind === "limited") limits.set(keyOf(event), { maxHoldMs: event.maxHoldMs });
    if (event.kind !== "granted" && event.kind !== "acted" && event.kind !== "lost") continue;
    const limit = limits.get(keyOf(event));
    if (limit === undefined) continue;
    const { by, name, atMs } = event;
    limit.grantedMs ??= atMs;
    const heldMs = atMs - limit.grantedMs;
    const isOver = heldMs > limit.maxHoldMs * (1 + 2 * maxClockDrift) + SLACK_MS;
    const held = `"${name}" for ${heldMs.toFixed(0)} ms, with a maximum of ${limit.maxHoldMs}`;
    if (event.kind === "acted" && isOver) report(event, `${by} held ${held}`);
    const isEarly =
      losesNothing === true && heldMs < limit.maxHoldMs * (1 - 2 * maxClockDrift) - GRANT_MS;
    if (event.kind === "lost" && event.reason === "held-too-long" && isEarly)
      report(event, `${by} lost ${held}`);
  }
  return found;
};

function keyOf({ name, fence }: { readonly name: string; readonly fence: bigint }): string {
  return `${fence} ${name}`;
}
