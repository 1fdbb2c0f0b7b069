import type { WriteAnswer } from "../../platform/table.js";
import type { ClientContext } from "../context.js";
import type { RecordRef } from "../record/format.js";
import type { Granted } from "./settings.js";

/**
 * Notes a grant beside its record, in the background: it delays no lease, and a note that is lost is
 * lost. Only that it may not write at all is told, once.
 */
export function noteGrant(context: ClientContext, { hold, record, how }: Granted): void {
  const { history } = context.format;
  const { ref, held } = hold;
  if (!context.keepsHistory || history === undefined || !isKept(ref)) return;
  const { owner = "", acquiredAt: at = "", forced, lastHolder } = record;
  // It stays in the record: of a claim it is known whether its victim was the last to hold it.
  const isOld = how === "claim" && forced?.holder !== lastHolder;
  const note = { ...held, owner, at, how, forced: isOld ? undefined : forced };
  context.inBackground(async () => {
    const write = history.note(ref, note, context.wallMs());
    const answer = await context.write(write, context.settings.requestTimeoutMs);
    if (isSilent(answer)) await context.write(write, context.settings.requestTimeoutMs);
    if (answer.kind === "misconfigured") context.reportOnce("history", answer.error);
  });
}

const isKept = ({ kind }: RecordRef): boolean => kind === "lock" || kind === "leader";

const isSilent = ({ kind }: WriteAnswer): boolean =>
  ["unknown", "throttled", "conflict", "skewed"].includes(kind);
