/** What happened to a name, in order. A run that began has a fence; so has what its function did. */
export type CoalesceEvent =
  | {
      readonly kind: "called" | "resolved";
      readonly name: string;
      readonly by: string;
      readonly call: number;
    }
  | {
      readonly kind: "began" | "acted" | "ended";
      readonly name: string;
      readonly by: string;
      readonly fence: bigint;
    }
  /** A process died or closed its client. */
  | { readonly kind: "gone"; readonly by: string }
  /** Nothing happens any more; later events are of a newcomer that runs what is owed. */
  | { readonly kind: "settled" };

/**
 * Every call that resolved is followed by a run that began after it and ran to its end: before the end of the run if its
 * process lives on, and else at the latest when a newcomer runs what is owed.
 */
export function unfollowed(history: readonly CoalesceEvent[]): string[] {
  const found: string[] = [];
  const gone = new Set(history.flatMap((event) => (event.kind === "gone" ? [event.by] : [])));
  const settledAt = history.findIndex(({ kind }) => kind === "settled");
  for (const [at, event] of history.entries()) {
    if (event.kind !== "called") continue;
    const { call, name, by } = event;
    const isResolved = history.some((later) => later.kind === "resolved" && later.call === call);
    if (!isResolved) continue;
    const until = gone.has(by) ? history.length : settledAt;
    if (!hasRun(history.slice(at, until), name))
      found.push(`${by}'s call ${call} of "${name}" was not followed by a run`);
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

/** Two runs never act at once: none acts after a later one began, and fences rise. */
export function overlapping(history: readonly CoalesceEvent[]): string[] {
  const found: string[] = [];
  const latest = new Map<string, bigint>();
  for (const event of history) {
    if (!("fence" in event)) continue;
    const { kind, name, by, fence } = event;
    const last = latest.get(name) ?? 0n;
    const isWrong = kind === "began" ? fence <= last : fence < last;
    if (isWrong) found.push(`${by} ${kind} with fence ${fence} of "${name}" after fence ${last}`);
    if (kind === "began" && fence > last) latest.set(name, fence);
  }
  return found;
}
