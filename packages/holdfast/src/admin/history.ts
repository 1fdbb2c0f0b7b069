import type { AcquireContext } from "../core/acquire/context.js";
import { requireCapability } from "../core/record/capability.js";
import type { RecordRef } from "../core/record/format.js";
import { type ForcedRelease, forcedReleaseIn, type GrantNote } from "../core/record/record.js";
import { unavailableError } from "../core/unavailable.js";
import { HISTORY } from "../native/native-history.js";
import { unlessMisconfigured } from "../platform/retry.js";

/** The last grants of a name, as noted by their holders, and the last forced releases. */
export interface History {
  readonly name: string;
  /** Newest first, at most sixteen. If a fence is missing between two others, its grant has no note. */
  readonly grants: readonly GrantNote[];
  /** Newest first. The client finds forced releases in the record, and in the notes of later grants. */
  readonly forced: readonly ForcedRelease[];
}

/** Reads the history of a name: seventeen reads at once, each for half a read unit. Throws coded errors. */
export async function historyOf(context: AcquireContext, ref: RecordRef): Promise<History> {
  const history = requireCapability(context.format, HISTORY);
  const keys = [...history.keysOf(ref), ref.key];
  const items = await Promise.all(
    keys.map(async (key) => {
      const read = { key, consistent: false };
      const answer = unlessMisconfigured(await context.read(read));
      if (answer.kind !== "found")
        throw unavailableError(ref.name, "was not read", answer, `The history of "${ref.name}"`);
      return answer.item;
    }),
  );
  const found = context.format.codec.read(items.pop());
  const grants = items
    .map((item) => history.noteIn(item))
    .filter((note) => note !== undefined)
    .sort((a, b) => Number(b.fence - a.fence));
  const last = "request" in found ? forcedReleaseIn(found) : undefined;
  return { name: ref.name, grants, forced: forcedOf([last, ...grants.map((note) => note.forced)]) };
}

/** Removes duplicates: the record and several notes may contain the same forced release. */
function forcedOf(all: readonly (ForcedRelease | undefined)[]): ForcedRelease[] {
  const byGrant = new Map<string, ForcedRelease>();
  for (const forced of all) {
    if (forced !== undefined) byGrant.set(`${forced.holder} ${forced.at}`, forced);
  }
  return [...byGrant.values()];
}
