import type { NoteGrant, NotesGrants } from "../core/context.js";
import type { GrantHistory } from "../core/options.js";
import { requireCapability } from "../core/record/capability.js";
import type { HistoryFormat, RecordRef } from "../core/record/format.js";
import { forcedReleaseIn } from "../core/record/record.js";
import { CLAIM } from "../core/table-access.js";
import { HISTORY } from "../native/native-history.js";
import { isoTimeOf } from "../platform/clock.js";
import { isNoAnswer } from "../platform/retry.js";

/**
 * Returns the value of the option `history` of a client that notes each grant of a lock, a permit or a leadership beside its
 * record. `history()` shows the last sixteen grants of a name. Each note costs one write. The client sends it in the
 * background, and the grant does not wait for it. Only for native records in a table with a sort key.
 */
export function grantHistory(): GrantHistory {
  const notes: NotesGrants = {
    kind: "grant history",
    noteGrant: (format) => noting(requireCapability(format, HISTORY)),
  };
  return Object.freeze(notes);
}

/**
 * Returns how to write a note of a grant into the history, in the background. The note delays no lease and may be lost. A
 * client without the permission to write notes reports the error once.
 */
const noting =
  (history: HistoryFormat): NoteGrant =>
  (context, { hold, record, how }) => {
    const { ref, held } = hold;
    if (!isKept(ref)) return;
    // A permit has no time of its grant in the record.
    const { owner = "", acquiredAt: at = isoTimeOf(context.wallMs()), lastHolder } = record;
    const forced = forcedReleaseIn(record);
    // The note of a forced release stays in the record. It belongs to this claim only if the released holder was the
    // last holder.
    const isOld = how === "claim" && (ref.permit !== undefined || forced?.holder !== lastHolder);
    const note = { ...held, owner, at, how, forced: isOld ? undefined : forced };
    context.inBackground(async () => {
      const write = history.note(ref, note, context.wallMs());
      const send = () => context.write(write, undefined, undefined, CLAIM);
      const answer = await send();
      if (isNoAnswer(answer)) await send();
      if (answer.kind === "misconfigured") context.reportOnce("history", () => answer.error);
    });
  };

// Occurrences and sessions have no history.
const isKept = ({ kind }: RecordRef): boolean => kind !== "once" && kind !== "session";
