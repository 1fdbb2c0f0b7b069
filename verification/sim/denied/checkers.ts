import type { Item } from "../../../packages/holdfast/src/platform/table.js";
import { numberIn, textIn } from "../items.js";

/** A record that a live session keeps held, although no process believes in its lease or permit. */
export interface Orphan {
  readonly key: string;
  readonly holder: string;
  readonly session: string;
}

/**
 * Returns the records, queue entries and permits that name a live session without a believing holder. `believed`: the
 * holder ids of all leases and permits that processes count as held. Pure.
 */
export function orphans(
  items: readonly Item[],
  believed: ReadonlySet<string>,
  wallMs: number,
): Orphan[] {
  const live = new Set(items.flatMap((item) => sessionIn(item, wallMs) ?? []));
  return items.flatMap((item) =>
    namedIn(item)
      .filter(({ holder, session }) => live.has(session) && !believed.has(holder))
      .map((named) => ({ key: textIn(item, "pk") ?? "?", ...named })),
  );
}

/** The id of a session whose row has a holder, and an end that is not past. */
function sessionIn(item: Item, wallMs: number): string | undefined {
  const pk = textIn(item, "pk");
  const end = item["leaseEnd"];
  if (pk?.startsWith("session#") !== true || textIn(item, "holder") === undefined) return undefined;
  const endMs = end !== undefined && "M" in end ? Number(numberIn(end.M, "at")) : 0;
  return endMs > wallMs ? pk.slice("session#".length) : undefined;
}

function namedIn(item: Item): { readonly holder: string; readonly session: string }[] {
  const named = Object.entries(item).flatMap(([attribute, value]) => {
    const session = "M" in value ? textIn(value.M, "session") : undefined;
    const isPermit = attribute.startsWith("permit#") && session !== undefined;
    return isPermit ? [{ holder: attribute.slice("permit#".length), session }] : [];
  });
  const [holder, session] = [textIn(item, "holder"), textIn(item, "session")];
  return holder === undefined || session === undefined ? named : [{ holder, session }, ...named];
}
