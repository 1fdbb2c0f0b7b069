/** What happened to a name, in order. */
export type AssignEvent =
  | {
      /** `acted`: the run counted its name as its own. `ended`: the function of the run has returned. */
      readonly kind: "began" | "acted" | "ended";
      readonly name: string;
      readonly by: string;
      readonly fence: bigint;
    }
  | {
      /** The signal of a run has aborted; then the member has given the name up in order, at an instant of its own clock. */
      readonly kind: "aborted" | "freed";
      readonly name: string;
      readonly by: string;
      readonly fence: bigint;
      readonly atMs: number;
    }
  /** A process died, or its program has stopped its assignment. */
  | { readonly kind: "gone"; readonly by: string };

/** No process begins a run of a name while its former run goes on. Returns the runs that did. */
export function beside(history: readonly AssignEvent[]): string[] {
  const open = new Set<string>();
  const found: string[] = [];
  for (const event of history) {
    if (event.kind === "gone") continue;
    const { kind, name, by, fence } = event;
    const place = `${by} ${name}`;
    if (kind === "ended") open.delete(place);
    if (kind !== "began") continue;
    if (open.has(place)) found.push(`${by}'s run ${fence} of "${name}"`);
    open.add(place);
  }
  return found;
}

/**
 * A member gives a name up in order only when its run has ended, or has had `stopMs` for that, or before it begins, and then it
 * never does. Returns the others.
 */
export function freedEarly(history: readonly AssignEvent[], stopMs: number): string[] {
  const abortedMs = new Map<string, number>();
  const [begun, ended, unbegun] = [new Set<string>(), new Set<string>(), new Set<string>()];
  const found: string[] = [];
  for (const event of history) {
    if (event.kind === "gone") continue;
    const { kind, name, by, fence } = event;
    const run = `${by}'s run ${fence} of "${name}"`;
    if (kind === "began") begun.add(run);
    if (kind === "began" && unbegun.has(run)) found.push(run);
    if (kind === "ended") ended.add(run);
    if (kind === "freed" && !begun.has(run)) unbegun.add(run);
    if (kind === "aborted") abortedMs.set(run, event.atMs);
    if (kind !== "freed" || ended.has(run) || unbegun.has(run)) continue;
    const hadMs = event.atMs - (abortedMs.get(run) ?? event.atMs);
    if (hadMs < stopMs) found.push(run);
  }
  return found;
}

/** Who runs each name at the end of a history, of the processes that are not gone. */
function runningAtEnd(history: readonly AssignEvent[]): ReadonlyMap<string, readonly string[]> {
  const running = new Map<string, Set<string>>();
  for (const event of history) {
    if (event.kind === "gone") for (const by of running.values()) by.delete(event.by);
    else if (event.kind === "began" || event.kind === "ended") {
      const by = running.get(event.name) ?? new Set<string>();
      running.set(event.name, by);
      if (event.kind === "began") by.add(event.by);
      else by.delete(event.by);
    }
  }
  return new Map([...running].map(([name, by]) => [name, [...by]]));
}

/** What a member's row in the table tells. */
export interface ToldRow {
  readonly by: string;
  readonly count: number;
  /** The digest of the names that the member knows. */
  readonly names: string;
  readonly isLeaving: boolean;
}

/** Rows that do not tell what runs, once nothing moves: each of these members has one row, and nobody else has. */
export function untold(
  history: readonly AssignEvent[],
  rows: readonly ToldRow[],
  digest: string,
  members: readonly string[],
): string[] {
  const running = [...runningAtEnd(history).values()].flat();
  const found = rows
    .filter(({ by }) => !members.includes(by))
    .map(({ by }) => `${by} is gone, and has a row`);
  for (const by of members) {
    const [row, ...others] = rows.filter((one) => one.by === by);
    const count = running.filter((one) => one === by).length;
    if (row === undefined || others.length > 0)
      found.push(`${by} has ${others.length === 0 ? "no row" : "two rows"}`);
    else if (row.count !== count || row.names !== digest || row.isLeaving)
      found.push(`${by} runs ${count} names, and its row tells ${row.count}, ${row.names}`);
  }
  return found;
}

/** What is wrong at the end, once the faults have stopped: names that nobody runs, and members far from their share. */
export function unspread(
  history: readonly AssignEvent[],
  names: readonly string[],
  members: readonly string[],
): string[] {
  const running = runningAtEnd(history);
  const counts = new Map(members.map((by) => [by, 0]));
  const found: string[] = [];
  for (const name of names) {
    const [by, ...others] = running.get(name) ?? [];
    if (by === undefined) found.push(`Nobody runs "${name}"`);
    else if (others.length > 0) found.push(`${[by, ...others].join(" and ")} run "${name}"`);
    else counts.set(by, (counts.get(by) ?? 0) + 1);
  }
  const share = names.length / members.length;
  for (const [by, count] of counts) {
    // One by rounding, and what a member does not ask for.
    const most = Math.max(1, 0.15 * share) + 1;
    if (Math.abs(count - share) > most)
      found.push(`${by} runs ${count} names, its share is ${share}`);
  }
  return found;
}
