import type { AcquireContext } from "../core/acquire/context.js";
import type { MemberRow } from "../native/native-members.js";
import { type Sharer, shareOut } from "./share.js";

type Row = Omit<MemberRow, "expiresAt">;

/** After this many periods a member with other names is not expected to learn the same ones. */
const PERIODS_TO_AGREE = 3;
// Within these bounds of its share, a member neither asks others for names, nor is asked: else a member that comes or goes
// would also move names between two others.
const SHORT_PART = 0.95;
const OVER_PART = 1.15;
/** A member that just gave names up, or is about to be asked, shows so within this many periods. */
const PERIODS_TO_SETTLE = 3;

/** What each member should have, by this member's last look at the group. Computed anew only after a change. */
export class Targets {
  readonly #context: Pick<AcquireContext, "nowMs">;
  readonly #periodMs: number;
  #shared: ReadonlyMap<string, string> = new Map();
  #sizes = new Map<string, number>();
  #names: readonly string[] = [];
  #key = "";
  #sinceMs = 0;
  #ownDigest = "";
  /** Since when a member's digest has differed from this member's, both unchanged. */
  readonly #differing = new Map<string, { readonly digests: string; readonly sinceMs: number }>();

  constructor(context: Pick<AcquireContext, "nowMs">, periodMs: number) {
    this.#context = context;
    this.#periodMs = periodMs;
  }

  /** Notes a look: this member, all rows, and the names that this member knows. */
  see(own: Row, rows: ReadonlyMap<string, Row>, names: readonly string[]): void {
    const nowMs = this.#context.nowMs();
    const members: Sharer[] = [{ id: own.session, weight: own.weight }];
    for (const row of rows.values()) {
      if (row.session === own.session || row.isLeaving || !this.#agrees(own, row, nowMs)) continue;
      members.push({ id: row.session, weight: row.weight });
    }
    for (const id of this.#differing.keys()) if (!rows.has(id)) this.#differing.delete(id);
    const ids = members.map(({ id, weight }) => `${id} ${weight}`).sort();
    const key = `${own.names} ${ids.join(" ")}`;
    this.#ownDigest = own.names;
    if (key === this.#key) return;
    this.#key = key;
    this.#sinceMs = nowMs;
    this.#names = names;
    this.#shared = shareOut(names, members);
    this.#sizes = new Map();
    for (const id of this.#shared.values()) this.#sizes.set(id, this.sizeOf(id) + 1);
  }

  /** The member that should have the name; undefined if no member may, or the name is not known. */
  of(name: string): string | undefined {
    return this.#shared.get(name);
  }

  /** Whether no member may have a name. */
  get isEmpty(): boolean {
    return this.#shared.size === 0;
  }

  /** The names that the member should have. */
  namesOf(id: string): readonly string[] {
    return this.#names.filter((name) => this.#shared.get(name) === id);
  }

  sizeOf(id: string): number {
    return this.#sizes.get(id) ?? 0;
  }

  /** Whether this member has so few names that it asks for those that it should have. */
  isShort(id: string, count: number): boolean {
    return count < SHORT_PART * this.sizeOf(id);
  }

  /** Whether another member should be asked for a name: it knows the same names, and it, or this one, is out of balance. */
  mayAsk(row: Row, isShort: boolean): boolean {
    if (row.isLeaving || row.names !== this.#ownDigest) return false;
    if (isShort) return true;
    const isSettled = this.#context.nowMs() - this.#sinceMs >= PERIODS_TO_SETTLE * this.#periodMs;
    return isSettled && row.count > OVER_PART * this.sizeOf(row.session);
  }

  // Members learn of new names at different times, so that other names count as the same for a while.
  #agrees(own: Row, row: Row, nowMs: number): boolean {
    if (row.names === own.names) {
      this.#differing.delete(row.session);
      return true;
    }
    const digests = `${row.names} ${own.names}`;
    let seen = this.#differing.get(row.session);
    if (seen?.digests !== digests) {
      seen = { digests, sinceMs: nowMs };
      this.#differing.set(row.session, seen);
    }
    return nowMs - seen.sinceMs < PERIODS_TO_AGREE * this.#periodMs;
  }
}
