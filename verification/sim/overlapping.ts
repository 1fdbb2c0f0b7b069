/** What a holder of a name did, under the fence of its grant. */
export interface Act {
  readonly kind: string;
  readonly by: string;
  readonly fence: bigint;
  /** Absent: there is only one name. */
  readonly name?: string;
}

/**
 * Two holders never act at once: none acts after a later one began. Returns those that did. `late`: what a holder may do
 * after it has lost its lease, such as to note its end.
 */
export function overlapping(
  history: readonly (Act | { readonly kind: string; readonly fence?: never })[],
  late: readonly string[] = [],
): string[] {
  const found = new Set<string>();
  const latest = new Map<string | undefined, bigint>();
  for (const event of history) {
    if (event.fence === undefined) continue;
    const { kind, name, by, fence } = event;
    const last = latest.get(name) ?? 0n;
    const of = name === undefined ? "" : ` of "${name}"`;
    if (fence < last && !late.includes(kind))
      found.add(`${by}'s run ${fence}${of} acted after a later one began`);
    else if (fence > last && (kind === "began" || kind === "took")) latest.set(name, fence);
  }
  return [...found];
}
