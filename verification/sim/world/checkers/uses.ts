import type { Checker } from "../../checker.js";
import type { Violation } from "../../history.js";
import { Scene } from "../../scene.js";

/** What a history shows of a grant with several uses. */
interface Uses {
  readonly by: string;
  /** The fence of the grant before. */
  readonly after: bigint;
  last: bigint;
  /** When the first use was released. */
  releasedMs?: number;
  /** Since when the record shows a queue or a request to the holder. */
  wantedMs?: number;
  /** When an answer has shown that to the holder. */
  toldMs?: number;
  /** Whether the call that got the grant has used it. */
  isUsed?: boolean;
}

function keyOf({ name, fence }: { readonly name: string; readonly fence: bigint }): string {
  return `${fence} ${name}`;
}

/**
 * The fences of a name grow from use to use: each is higher than those before, and within the fences that its grant has
 * reserved.
 */
export const uses: Checker = (history) => {
  const found: Violation[] = [];
  const fences = new Map<string, bigint>();
  const grants = new Map<string, Uses>();
  for (const event of history) {
    if (event.kind === "record") {
      const { by, name, fence, holder } = event;
      const after = fences.get(name) ?? -1n;
      if (holder !== undefined && after !== fence)
        grants.set(keyOf(event), { by, after, last: after });
      fences.set(name, fence);
    }
    if (event.kind !== "use") continue;
    const { by, name, fence, of, atMs } = event;
    const grant = grants.get(keyOf({ name, fence: of }));
    const isNext = grant !== undefined && grant.by === by && fence > grant.last && fence <= of;
    if (grant !== undefined) grant.last = fence;
    if (isNext) continue;
    const what = `${by} used "${name}" with fence ${fence} of the grant ${of} after ${grant?.after}`;
    found.push({ invariant: "uses", atMs, what });
  }
  return found;
};

// The drift of a clock, the rounding of timers, and the way from the answer to the use.
const SLACK = 1.1;
const SLACK_MS = 20;

/**
 * No use begins when its grant was kept for its length, nor after an answer has shown its holder that others want the
 * lock: so a rival waits for a bounded time. While the process is hindered, its timers are late.
 */
export const usesInTime: Checker = (history) => {
  const found: Violation[] = [];
  const scene = new Scene();
  const grants = new Map<string, Partial<Uses>>();
  const grantOf = new Map<string, string>();
  const ofGrant = (key: string): Partial<Uses> => {
    const known = grants.get(key) ?? {};
    grants.set(key, known);
    return known;
  };
  for (const event of history) {
    scene.see(event);
    const { atMs } = event;
    if (event.kind === "released") {
      const grant = grantOf.get(keyOf(event));
      if (grant !== undefined) ofGrant(grant).releasedMs ??= atMs;
    } else if (event.kind === "queue") {
      if (event.tail !== event.served) ofGrant(keyOf(event)).wantedMs ??= atMs;
    } else if (event.kind === "asked") {
      if (event.what !== "release") ofGrant(keyOf(event)).wantedMs ??= atMs;
    } else if (event.kind === "kept") {
      const grant = ofGrant(keyOf(event));
      if (event.sentMs >= (grant.wantedMs ?? Number.POSITIVE_INFINITY)) grant.toldMs ??= atMs;
    } else if (event.kind === "use") {
      const { by, name, of, keepMs } = event;
      const key = keyOf({ name, fence: of });
      grantOf.set(keyOf(event), key);
      const grant = ofGrant(key);
      const { releasedMs = Number.POSITIVE_INFINITY, toldMs = Number.POSITIVE_INFINITY } = grant;
      const ableMs = scene.ableSinceMs(by) ?? Number.POSITIVE_INFINITY;
      const report = (what: string): void => {
        found.push({ invariant: "uses in time", atMs, what: `${by} used "${name}" again ${what}` });
      };
      if (ableMs <= releasedMs && atMs > releasedMs + SLACK * keepMs + SLACK_MS)
        report(`${(atMs - releasedMs).toFixed(0)} ms after the first release of its grant`);
      // The first use is of the call that was granted, past those who wait.
      if (grant.isUsed === true && atMs > toldMs)
        report(`${(atMs - toldMs).toFixed(0)} ms after it was told that others want it`);
      grant.isUsed = true;
    }
  }
  return found;
};
