/** What happened to a name, in order. A run that began has a fence; so has what its function did, and what other holders do. */
export type CoalesceEvent =
  | {
      readonly kind: "called" | "resolved";
      readonly name: string;
      readonly by: string;
      readonly call: number;
    }
  | {
      readonly kind: "began" | "took" | "acted" | "ended";
      readonly name: string;
      readonly by: string;
      readonly fence: bigint;
    }
  /** A process died or closed its client. */
  | { readonly kind: "gone"; readonly by: string }
  /** Nothing happens any more; later events are of a newcomer that runs what is owed. */
  | { readonly kind: "settled" };

/** A call without a run after it. */
export interface Unfollowed {
  readonly name: string;
  readonly by: string;
  readonly call: number;
  /** Whether the process has died, or closed its client. */
  readonly isGone: boolean;
}

/**
 * Every call that resolved is followed by a run that began after it and ran to its end: before the end of the run if its
 * process lives on, and else at the latest when a newcomer runs what is owed.
 */
export function unfollowed(history: readonly CoalesceEvent[]): Unfollowed[] {
  const found: Unfollowed[] = [];
  const gone = new Set(history.flatMap((event) => (event.kind === "gone" ? [event.by] : [])));
  const settledAt = history.findIndex(({ kind }) => kind === "settled");
  for (const [at, event] of history.entries()) {
    if (event.kind !== "called") continue;
    const { call, name, by } = event;
    const isResolved = history.some((later) => later.kind === "resolved" && later.call === call);
    if (!isResolved) continue;
    const until = gone.has(by) ? history.length : settledAt;
    if (!hasRun(history.slice(at, until), name))
      found.push({ name, by, call, isGone: gone.has(by) });
  }
  return found;
}

function hasRun(history: readonly CoalesceEvent[], name: string): boolean {
  const begun = new Set<bigint>();
  return history.some((event) => {
    if (!("fence" in event) || event.name !== name) return false;
    if (event.kind === "began") begun.add(event.fence);
    return event.kind === "ended" && begun.has(event.fence);
  });
}

/** Each run has a fence of its own. Returns the runs that began twice. */
export function repeated(history: readonly CoalesceEvent[]): string[] {
  const begun = new Set<string>();
  return history.flatMap((event) => {
    if (event.kind !== "began") return [];
    const run = `${event.fence} of "${event.name}"`;
    if (begun.has(run)) return [run];
    begun.add(run);
    return [];
  });
}
