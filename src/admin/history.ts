import type { AcquireContext } from "../core/acquire/context.js";
import type { RecordRef } from "../core/record/format.js";
import type { ForcedRelease, GrantNote } from "../core/record/record.js";
import { unavailableError } from "../core/unavailable.js";
import { HoldfastError } from "../errors.js";

/** The last grants of a name, as far as their holders noted them, and the last forced releases. */
export interface History {
  readonly name: string;
  /** The newest first, sixteen at most. A gap in the fences is a grant that nobody noted. */
  readonly grants: readonly GrantNote[];
  /** The newest first, as far as a grant after them was noted, or the record still says so. */
  readonly forced: readonly ForcedRelease[];
}

/** Reads the history of a name: seventeen reads of half a unit, at once. Throws coded errors. */
export async function historyOf(context: AcquireContext, ref: RecordRef): Promise<History> {
  const { history } = context.format;
  if (history === undefined) throw noHistory(context.format.name);
  const keys = [...history.keysOf(ref), ref.key];
  const items = await Promise.all(
    keys.map(async (key) => {
      const read = { key, consistent: false };
      const answer = await context.read(read, context.settings.requestTimeoutMs);
      if (answer.kind === "misconfigured") throw answer.error;
      if (answer.kind !== "found")
        throw unavailableError(ref.name, "did not show its history", answer);
      return answer.item;
    }),
  );
  const found = context.format.read(items.pop());
  const grants = items
    .map((item) => history.noteIn(item))
    .filter((note) => note !== undefined)
    .sort((a, b) => Number(b.fence - a.fence));
  const last = "forced" in found ? found.forced : undefined;
  return { name: ref.name, grants, forced: forcedOf([last, ...grants.map((note) => note.forced)]) };
}

/** Each once, though the record goes on saying it. */
function forcedOf(all: readonly (ForcedRelease | undefined)[]): ForcedRelease[] {
  const byGrant = new Map<string, ForcedRelease>();
  for (const forced of all) {
    if (forced !== undefined) byGrant.set(`${forced.holder} ${forced.at}`, forced);
  }
  return [...byGrant.values()];
}

/** The error for a format, or a table, that has no room for a history. */
export function noHistory(format: string): HoldfastError {
  return new HoldfastError(
    "invalid-argument",
    `Records of format "${format}" have no room for a history: it needs native records, and a table with a ` +
      "sort key.",
  );
}
