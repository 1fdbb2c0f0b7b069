import { HISTORY } from "../../formats/native-history.js";
import { isoTimeOf } from "../../platform/clock.js";
import { isNoAnswer } from "../../platform/retry.js";
import type { ClientContext } from "../context.js";
import type { RecordRef } from "../record/format.js";
import { forcedReleaseIn } from "../record/record.js";
import { CLAIM } from "../table-access.js";
import type { Granted } from "./settings.js";

/**
 * Writes a note of a grant into the history, in the background. The note delays no lease and may be lost. A client
 * without the permission to write notes reports the error once.
 */
export function noteGrant(context: ClientContext, { hold, record, how }: Granted): void {
  const history = HISTORY.of(context.format);
  const { ref, held } = hold;
  if (!context.keepsHistory || history === undefined || !isKept(ref)) return;
  // A permit has no time of its grant in the record.
  const { owner = "", acquiredAt: at = isoTimeOf(context.wallMs()), lastHolder } = record;
  const forced = forcedReleaseIn(record);
  // The note of a forced release stays in the record. It belongs to this claim only if the released holder was the last
  // holder.
  const isOld = how === "claim" && (ref.permit !== undefined || forced?.holder !== lastHolder);
  const note = { ...held, owner, at, how, forced: isOld ? undefined : forced };
  context.inBackground(async () => {
    const write = history.note(ref, note, context.wallMs());
    const { requestTimeoutMs } = context.settings;
    const send = () => context.write(write, requestTimeoutMs, undefined, CLAIM);
    const answer = await send();
    if (isNoAnswer(answer)) await send();
    if (answer.kind === "misconfigured") context.reportOnce("history", () => answer.error);
  });
}

// Occurrences and sessions have no history.
const isKept = ({ kind }: RecordRef): boolean => kind !== "once" && kind !== "session";
