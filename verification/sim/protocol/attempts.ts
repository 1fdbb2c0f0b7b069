import type { Item, Write } from "../../../packages/holdfast/src/platform/table.js";
import { mapIn, textIn } from "../items.js";
import type { Exchanged } from "../observed.js";
import { recordIn } from "../witness.js";
import { required } from "./items.js";
import type { Wrong } from "./steps.js";

/** The requests for one permit, under one id. */
interface Attempt {
  readonly by: string;
  readonly session: string | undefined;
  sends: number;
  /** Requests that the table may have applied, or may still apply. */
  unanswered: number;
  /** Whether the process has sent a mark for the id. */
  isWithdrawn: boolean;
}

const PERMIT = "permit#";
const MARK = "withdrawn#";

/** The attempts of processes to get permits: each is answered, or withdrawn by a mark that stops its late copies. */
export class Attempts {
  readonly #all = new Map<string, Attempt>();
  /** The sessions that the table shows as ended: late copies on them are of use to nobody. */
  readonly #ended = new Set<string>();

  /** Sees a write that a process sends, and judges the end of a session. `isAlive`: by the clock of its process. */
  sent(by: string, write: Write, isAlive: (session: string) => boolean): Wrong | undefined {
    const { set, remove } = write.change;
    const { kind, name } = recordIn(write.key);
    if (kind === "session") {
      const isEnd = remove.includes("holder") && set["holder"] === undefined;
      return isEnd && isAlive(name) ? this.#judgeEnd(by, name) : undefined;
    }
    for (const attribute of Object.keys(set)) {
      if (attribute.startsWith(MARK)) {
        const marked = this.#all.get(attribute.slice(MARK.length));
        if (marked !== undefined) marked.isWithdrawn = true;
      } else if (attribute.startsWith(PERMIT)) {
        const id = attribute.slice(PERMIT.length);
        if (isOnce(write)) continue;
        const session = textIn(mapIn(set as Item, attribute), "session");
        const attempt = this.#all.get(id) ?? newAttempt(by, session);
        attempt.sends += 1;
        attempt.unanswered += 1;
        this.#all.set(id, attempt);
      }
    }
    return undefined;
  }

  /** Sees the answer to a write. */
  answered(write: Write, answer: Exchanged["answer"]["kind"]): void {
    if (answer === "unknown") return;
    for (const id of idsIn(Object.keys(write.change.set))) {
      const attempt = this.#all.get(id);
      if (attempt === undefined) continue;
      attempt.unanswered = ["applied", "refused"].includes(answer) ? 0 : attempt.unanswered - 1;
    }
  }

  /** Judges a write of a record with permits that the table has applied. */
  applied(by: string, { key, change }: Write): Wrong | undefined {
    const { kind, name } = recordIn(key);
    if (kind === "session" && change.remove.includes("holder")) this.#ended.add(name);
    for (const id of idsIn(change.remove)) {
      const attempt = this.#all.get(id);
      if (attempt?.by !== by || attempt.sends < 2) continue;
      if (this.#ended.has(attempt.session ?? "")) continue;
      if (change.set[MARK + id] === undefined)
        return ["R5", "removed a permit that it had asked for twice, and left no mark"];
    }
    return undefined;
  }

  #judgeEnd(by: string, session: string): Wrong | undefined {
    for (const attempt of this.#all.values()) {
      const { unanswered, isWithdrawn } = attempt;
      if (attempt.by !== by || attempt.session !== session) continue;
      if (unanswered === 0 || isWithdrawn) continue;
      return ["R14", "ended a session, and has not withdrawn an attempt without an answer"];
    }
    return undefined;
  }
}

function newAttempt(by: string, session: string | undefined): Attempt {
  return { by, session, sends: 0, unanswered: 0, isWithdrawn: false };
}

function idsIn(attributes: readonly string[]): string[] {
  return attributes.flatMap((one) => (one.startsWith(PERMIT) ? one.slice(PERMIT.length) : []));
}

// A grant onto one state of the record is never applied again, and one that replaces a permit only while the record has it.
function isOnce({ change, condition }: Write): boolean {
  const onto = required(condition).some(
    (one) =>
      (one.kind === "equals" && one.attribute === "version") ||
      (one.kind === "absent" && one.attribute === "pk"),
  );
  return onto || idsIn(change.remove).length > 0;
}
