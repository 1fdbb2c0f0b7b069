import type { LeaseFormat } from "../record/format.js";
import { LONGEST_NAME_BYTES } from "../record/name.js";
import type { RecordRef, SharedKind } from "../record/ref.js";

const KINDS: readonly string[] = ["semaphore", "read-write"] satisfies SharedKind[];

/** Returns the note that asks a session to look for its unused permits in a record. It stands in place of a holder's id. */
export function noteAbout({ kind, name }: RecordRef): string {
  return `${kind}#${name}`;
}

/** Returns the record that a note names, or undefined if the text is the id of a holder, or no name. */
export function refInNote(format: LeaseFormat, note: string): RecordRef | undefined {
  const [kind = "", ...rest] = note.split("#");
  const name = rest.join("#");
  if (!KINDS.includes(kind) || name === "") return undefined;
  if (Buffer.byteLength(name) > LONGEST_NAME_BYTES) return undefined;
  return format.codec.refOf(kind as SharedKind, name);
}
