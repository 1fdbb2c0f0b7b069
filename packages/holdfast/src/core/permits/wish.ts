import type { AbsentRecord, SharedRecord } from "../record/permits.js";
import type { SessionKeepAlive } from "../session/keep-alive.js";
import type { AdoptedLimit } from "./adopted-limits.js";
import type { PermitMarks } from "./marks.js";

/** What an acquisition asks of a record with permits, and the session that will keep the permit alive. */
export interface Wish {
  /** How much of the limit the permit takes. */
  readonly weight: number;
  /** The limit that the caller gives to a record without one. */
  readonly limit: number;
  /** Undefined: the caller refuses another limit. */
  readonly adopted: AdoptedLimit | undefined;
  readonly life: SessionKeepAlive;
  /** The marks of withdrawn attempts that this client knows of. */
  readonly marks: PermitMarks;
  /** The acquisition calls this with each record that it sees. */
  readonly onSeen: (record: AbsentRecord | SharedRecord) => void;
}
