import type { AcquireContext } from "../core/acquire/context.js";
import { requireCapability } from "../core/record/capability.js";
import { decideBySession } from "../core/record/decide.js";
import { MEMBERS, type MemberRow } from "../native/native-members.js";
import { isNoAnswer, type NoAnswer } from "../platform/retry.js";
import type { Item } from "../platform/table.js";

/** What a member tells the others of itself. */
export type Told = Omit<MemberRow, "expiresAt">;

// TTL removes a row a week after its write.
const WRITE_AGAIN_MS = 5 * 24 * 3_600_000;
// A session that this client has not seen yet has no other state than its own.
const OVER = { kind: "take-over", holder: "", version: 0n } as const;

/**
 * The members of one group, as one client sees them: their rows, by one query, and the session of the next member, by one
 * read. Each member watches the next one in the order of the ids, and removes its row once its session counts as dead: the
 * members need not read each other's sessions all. Everything here is about balance; an error delays it.
 */
export class Group {
  readonly #context: AcquireContext;
  readonly #group: string;
  /** The rows of all members, as last seen. */
  #rows: ReadonlyMap<string, MemberRow> = new Map();
  /** When the watched session counts as dead, on the monotonic clock, unless it renews. */
  #nextDeathMs = Number.POSITIVE_INFINITY;
  #unread: NoAnswer | undefined;
  #untold: NoAnswer | undefined;

  constructor(context: AcquireContext, group: string) {
    this.#context = context;
    this.#group = group;
  }

  get rows(): ReadonlyMap<string, MemberRow> {
    return this.#rows;
  }

  /** Why the last reading of the rows, or the last write of the own one, had no effect. */
  get trouble(): NoAnswer | undefined {
    return this.#unread ?? this.#untold;
  }

  get nextDeathMs(): number {
    return this.#nextDeathMs;
  }

  /**
   * Reads the rows of all members: one query, of half a unit for about forty of them. Returns whether DynamoDB answered;
   * without an answer the last rows stay. Throws the error of a wrong configuration. `isStrong`: with strongly consistent
   * reads, at twice the cost.
   */
  async look(isStrong = false): Promise<boolean> {
    const { all, rowIn } = this.#rowsOf();
    const rows = new Map<string, MemberRow>();
    let after: Item | undefined;
    do {
      const query = { ...all(this.#group), consistent: isStrong, after };
      const answer = this.#context.unlessLasting(
        await this.#context.query(query, undefined, this.#context.closing),
        true,
      );
      // A refused permission lasts longer than an outage, and without the rows each member takes itself for the only one.
      if (answer.kind === "denied") throw answer.cause;
      if (answer.kind !== "page") {
        this.#unread = answer;
        return false;
      }
      for (const item of answer.items) {
        const row = rowIn(item);
        if (row !== undefined) rows.set(row.session, row);
      }
      after = answer.next;
    } while (after !== undefined);
    this.#rows = rows;
    this.#unread = undefined;
    return true;
  }

  /** Removes the row of the next member after `me` if it is dead, and of the next one after that, and so on. */
  async watch(me: string): Promise<void> {
    this.#nextDeathMs = Number.POSITIVE_INFINITY;
    for (;;) {
      const next = nextAfter(me, this.#rows);
      if (next === undefined || !(await this.isOver(next))) return;
      await this.leave(next.session);
      this.#rows = new Map([...this.#rows].filter(([session]) => session !== next.session));
    }
  }

  /** Writes the member's row, unless the last rows show it as it is. One write. */
  async tell(told: Told): Promise<void> {
    const wallMs = this.#context.wallMs();
    const seen = this.#rows.get(told.session);
    if (seen !== undefined && isSame(seen, told)) {
      if (seen.expiresAt * 1_000 > wallMs + WRITE_AGAIN_MS) {
        // A write without an answer was applied, or the row has become the same again.
        this.#untold = undefined;
        return;
      }
    }
    const write = this.#rowsOf().put(this.#group, told, wallMs);
    // Without an answer, the next look shows what is missing.
    const sent = this.#context.unlessLasting(await this.#context.write(write), true);
    this.#untold = isNoAnswer(sent) ? sent : undefined;
  }

  /** Removes the row of a member. One write. */
  async leave(session: string): Promise<void> {
    const write = this.#rowsOf().remove(this.#group, session);
    this.#context.unlessLasting(await this.#context.write(write), true);
  }

  #rowsOf() {
    return requireCapability(this.#context.format, MEMBERS);
  }

  /** Whether a member's session counts as dead. One read of half a unit, or of one with `isStrong`. */
  async isOver({ session, leaseMs }: MemberRow, isStrong = false): Promise<boolean> {
    const { sessions, closing } = this.#context;
    const decide = () => decideBySession(leaseMs, session, OVER, this.#context.circumstances());
    if (isStrong) await sessions.look(session, closing);
    else await sessions.poll(session, 0, closing);
    let decision = decide();
    if (decision.kind === "wait" && decision.isUnconfirmed === true) {
      await sessions.look(session, closing);
      decision = decide();
    }
    if (decision.kind === "wait") this.#nextDeathMs = decision.acquirableAtMs;
    return decision.kind === "take-over" || decision.kind === "end-session";
  }
}

function isSame(seen: MemberRow, told: Told): boolean {
  const names = Object.keys(told) as (keyof Told)[];
  return names.every((name) => seen[name] === told[name]);
}

/** The next member in the order of the ids, around the end; undefined if there is no other. */
function nextAfter(me: string, rows: ReadonlyMap<string, MemberRow>): MemberRow | undefined {
  const ids = [...rows.keys()].filter((id) => id !== me).sort();
  const next = ids.find((id) => id > me) ?? ids[0];
  return next === undefined ? undefined : rows.get(next);
}
