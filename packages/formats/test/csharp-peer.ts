import { randomUUID } from "node:crypto";
import { Exclusive } from "../../holdfast/src/internal/exclusive.js";
import { sleep } from "../../holdfast/src/internal/sleep.js";
import type { Clock } from "../../holdfast/src/platform/clock.js";
import type {
  AttributeValue,
  Condition,
  Item,
  TablePort,
  Write,
} from "../../holdfast/src/platform/table.js";
import type { Timers } from "../../holdfast/src/platform/timers.js";

/** The peer's table and clocks. */
export interface ClientEnvironment {
  readonly table: Pick<TablePort, "read" | "write" | "scan">;
  readonly clock: Clock;
  readonly timers: Timers;
}

export interface PeerOptions {
  readonly owner?: string;
  readonly leaseMs?: number;
  readonly beatMs?: number;
  /** False: manual heartbeats only. */
  readonly beats?: boolean;
  readonly sortKeyName?: string;
}

/** Options of an acquisition; lengths in milliseconds, where 0 means the default of 1000. */
export interface Wishes {
  readonly refreshMs?: number;
  readonly additionalMs?: number;
  readonly data?: Uint8Array;
  readonly replaceData?: boolean;
  readonly attributes?: Item;
  readonly update?: boolean;
  readonly consistent?: boolean;
  readonly onlyIfExists?: boolean;
  readonly skipsWait?: boolean;
}

export interface Hold {
  readonly id: string;
  readonly key: Item;
  readonly owner: string;
  readonly data: Uint8Array | undefined;
  version: string;
  leaseMs: number;
  sinceMs: number;
}

/** Options of a heartbeat. */
export interface Beat {
  readonly data?: Uint8Array;
  readonly deletesData?: boolean;
  readonly ensureMs?: number;
}

export class LockNotGranted extends Error {}
export class LockCurrentlyUnavailable extends Error {}

const DEFAULT_MS = 1_000;
const TIMEOUT_MS = 10_000;

const s = (text: string): AttributeValue => ({ S: text });
const present = (attribute: string): Condition => ({ kind: "present", attribute });
const equals = (attribute: string, value: string): Condition => ({
  kind: "equals",
  attribute,
  value: s(value),
});
const all = (...of: readonly Condition[]): Condition => ({ kind: "all", of });

/**
 * The C# port of the AWS lock client for Java (NuGet `dynamodb-lock-client` 1.0.1-beta), replayed from its
 * source: its requests in their order, and its reactions to answers. The port itself was not run, because it
 * needs .NET. Left out: names without requests, and its session monitor. Comments mark differences from the
 * Java client.
 */
export class CsharpPeer {
  readonly #here: ClientEnvironment;
  readonly #owner: string;
  readonly #leaseMs: number;
  readonly #beatMs: number;
  readonly #sort: string | undefined;
  readonly #held = new Map<string, Hold>();
  // Heartbeats and releases of all locks share one lock object.
  readonly #turn = new Exclusive();
  #isClosed = false;

  constructor(here: ClientEnvironment, options: PeerOptions = {}) {
    this.#here = here;
    this.#owner = options.owner ?? `csharp${randomUUID()}`;
    this.#leaseMs = options.leaseMs ?? 20_000;
    this.#beatMs = options.beatMs ?? 5_000;
    this.#sort = options.sortKeyName;
    if (options.beats !== false) void this.#beatForEver();
  }

  /** Acquires the lock, or throws {@link LockNotGranted} or {@link LockCurrentlyUnavailable}. */
  async acquire(name: string, wishes: Wishes = {}, sort?: string): Promise<Hold> {
    const key = this.#keyOf(name, sort);
    // The port cannot express zero.
    const refreshMs = wishes.refreshMs || DEFAULT_MS;
    let budgetMs = wishes.additionalMs || DEFAULT_MS;
    const startMs = this.#nowMs();
    let watched: { version: string; sinceMs: number; leaseMs: number } | undefined;
    for (;;) {
      const item = await this.#look(key);
      const seenMs = this.#nowMs();
      const version = textIn(item, "recordVersionNumber");
      if (item === undefined || item["isReleased"] !== undefined) {
        const hold = await this.#take(key, item, wishes, this.#freeCondition(item, wishes));
        if (hold !== undefined) return hold;
      } else if (wishes.skipsWait === true) {
        // The port forgets its observations after each call, so such a call never finds a dead holder.
        throw new LockCurrentlyUnavailable(name);
      } else if (watched === undefined) {
        watched = { version, sinceMs: seenMs, leaseMs: leaseIn(item) };
        budgetMs += watched.leaseMs;
      } else if (watched.version !== version) {
        watched = { version, sinceMs: seenMs, leaseMs: leaseIn(item) };
      } else if (this.#nowMs() - watched.sinceMs > watched.leaseMs) {
        const condition = all(...this.#exists(), equals("recordVersionNumber", version));
        const hold = await this.#take(key, item, wishes, condition);
        if (hold !== undefined) return hold;
      }
      if (this.#nowMs() - startMs > budgetMs) throw new LockNotGranted(name);
      await this.#sleep(refreshMs);
    }
  }

  /** Whether the port counts itself as the holder. */
  isHeld(hold: Hold): boolean {
    return this.#nowMs() - hold.sinceMs <= hold.leaseMs;
  }

  /** A manual heartbeat; throws {@link LockNotGranted} after a loss. */
  beat(hold: Hold, beat: Beat = {}): Promise<void> {
    return this.#turn.run(() => this.#beat(hold, beat));
  }

  /** Ensures at least so many milliseconds. */
  async ensure(hold: Hold, ensureMs: number): Promise<void> {
    const leftMs = hold.leaseMs - (this.#nowMs() - hold.sinceMs);
    if (leftMs <= ensureMs) await this.beat(hold, { ensureMs });
  }

  /** Resolves with true if this call released the lock. */
  release(hold: Hold, options: { keep?: boolean; data?: Uint8Array } = {}): Promise<boolean> {
    return this.#turn.run(async () => {
      if (hold.owner !== this.#owner) return false;
      this.#held.delete(hold.id);
      const own = { key: hold.key, condition: this.#ownCondition(hold) };
      const data = options.data === undefined ? {} : { data: { B: options.data } };
      const write: Write = options.keep
        ? { ...own, change: { set: { isReleased: s("1"), ...data }, remove: [] } }
        : { ...own, change: { set: {}, remove: [] }, as: "delete" };
      return this.#send(write);
    });
  }

  /** The item of a held lock. */
  async getLock(name: string, sort?: string): Promise<Item | undefined> {
    const item = await this.#look(this.#keyOf(name, sort));
    return item?.["isReleased"] === undefined ? item : undefined;
  }

  /** Every lock of the table; throws for any other item, as the port's parser does. */
  async list(): Promise<{ owner: string; leaseMs: number; version: string }[]> {
    const answer = await this.#here.table.scan({ prefixes: [] }, { timeoutMs: TIMEOUT_MS });
    if (answer.kind !== "page") throw new Error(answer.kind);
    return answer.items.map((item) => ({
      owner: textIn(item, "ownerName"),
      leaseMs: leaseIn(item),
      version: textIn(item, "recordVersionNumber"),
    }));
  }

  /** Ends the heartbeats and releases every lock, ignoring failures. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const hold of this.#held.values()) await this.release(hold).catch(() => false);
  }

  async #beatForEver(): Promise<void> {
    while (!this.#isClosed) {
      const fromMs = this.#nowMs();
      for (const hold of [...this.#held.values()]) await this.beat(hold).catch(() => undefined);
      await this.#sleep(Math.max(this.#beatMs - (this.#nowMs() - fromMs), 0));
    }
  }

  async #beat(hold: Hold, { data, deletesData, ensureMs }: Beat): Promise<void> {
    if (!this.isHeld(hold) || hold.owner !== this.#owner) {
      this.#held.delete(hold.id);
      throw new LockNotGranted("expired");
    }
    const version = randomUUID();
    const sentMs = this.#nowMs();
    const applied = await this.#send({
      key: hold.key,
      condition: this.#ownCondition(hold),
      change: {
        set: {
          // Always the client's own length, although the port believes the requested length (below).
          leaseDuration: s(String(this.#leaseMs)),
          recordVersionNumber: s(version),
          ...(data === undefined ? {} : { data: { B: data } }),
        },
        remove: deletesData === true ? ["data"] : [],
      },
    });
    if (!applied) {
      this.#held.delete(hold.id);
      throw new LockNotGranted("lost");
    }
    // `hold.data` keeps its old value.
    Object.assign(hold, { version, sinceMs: sentMs, leaseMs: ensureMs ?? this.#leaseMs });
  }

  #freeCondition(item: Item | undefined, { consistent }: Wishes): Condition {
    if (item === undefined) {
      const keys = this.#sort === undefined ? ["key"] : ["key", this.#sort];
      return all(...keys.map((attribute): Condition => ({ kind: "absent", attribute })));
    }
    const version = textIn(item, "recordVersionNumber");
    const seen = consistent === true ? [equals("recordVersionNumber", version)] : [];
    return all(...this.#exists(), ...seen, equals("isReleased", "1"));
  }

  /** Undefined if another client was faster, or if a required record is absent. */
  async #take(
    key: Item,
    item: Item | undefined,
    wishes: Wishes,
    condition: Condition,
  ): Promise<Hold | undefined> {
    if (item === undefined && wishes.onlyIfExists === true) return undefined;
    const existing = item?.["data"] as { readonly B: Uint8Array } | undefined;
    const data = wishes.replaceData === false ? (existing?.B ?? wishes.data) : wishes.data;
    const version = randomUUID();
    const sentMs = this.#nowMs();
    const set = {
      ...wishes.attributes,
      ownerName: s(this.#owner),
      leaseDuration: s(String(this.#leaseMs)),
      recordVersionNumber: s(version),
      ...(data === undefined ? {} : { data: { B: data } }),
    };
    // A takeover of an expired record leaves the `isReleased` of a late release.
    const remove = item?.["isReleased"] === undefined ? [] : ["isReleased"];
    const write: Write =
      wishes.update === true
        ? { key, condition, change: { set, remove } }
        : { key, condition, change: { set, remove: [] }, as: "put" };
    if (!(await this.#send(write))) return undefined;
    // The port joins the parts of a name, so that two names can become equal.
    const id = Object.values(key)
      .map((value) => ("S" in value ? value.S : ""))
      .join("");
    const taken = { version, leaseMs: this.#leaseMs, sinceMs: sentMs };
    const hold: Hold = { id, key, owner: this.#owner, data, ...taken };
    this.#held.set(id, hold);
    return hold;
  }

  #exists(): Condition[] {
    return [present("key"), ...(this.#sort === undefined ? [] : [present(this.#sort)])];
  }

  #ownCondition({ version, owner }: Hold): Condition {
    const own = [equals("recordVersionNumber", version), equals("ownerName", owner)];
    return all(...this.#exists(), ...own);
  }

  #keyOf(name: string, sort = ""): Item {
    return { key: s(name), ...(this.#sort === undefined ? {} : { [this.#sort]: s(sort) }) };
  }

  async #look(key: Item): Promise<Item | undefined> {
    const call = { timeoutMs: TIMEOUT_MS };
    const answer = await this.#here.table.read({ key, consistent: true }, call);
    if (answer.kind !== "found") throw new Error(answer.kind);
    return answer.item;
  }

  async #send(write: Write): Promise<boolean> {
    const answer = await this.#here.table.write(write, { timeoutMs: TIMEOUT_MS });
    if (answer.kind === "applied" || answer.kind === "refused") return answer.kind === "applied";
    throw new Error(answer.kind);
  }

  #sleep(forMs: number): Promise<void> {
    return sleep(this.#here.timers, forMs, false);
  }

  #nowMs(): number {
    return Math.floor(this.#here.clock.monotonicMs());
  }
}

function textIn(item: Item | undefined, attribute: string): string {
  const value = item?.[attribute];
  if (item === undefined) return "";
  if (value === undefined || !("S" in value)) throw new TypeError(`No ${attribute}.`);
  return value.S;
}

function leaseIn(item: Item): number {
  const text = textIn(item, "leaseDuration");
  if (!/^[+-]?\d+$/.test(text)) throw new TypeError(`No length: ${text}.`);
  return Number(text);
}
