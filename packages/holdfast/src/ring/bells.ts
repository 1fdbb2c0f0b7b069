import { createHmac, timingSafeEqual } from "node:crypto";
import type { ClientContext } from "../core/context.js";
import type { RecordRef } from "../core/record/format.js";
import type { RungHold } from "../core/rings.js";
import type { RingMarks } from "../native/native-rings.js";
import type { Timer } from "../platform/timers.js";
import { decodeFrame, encodeFrame, type FrameKind, TOKEN_BYTES } from "./frames.js";
import { Meter, MOST_FRAMES_PER_SECOND } from "./meter.js";
import type { LineEvents, RingLine, RingPort } from "./port.js";

// The first bytes of a token find the grant, and the others prove it.
const LOOKUP_BYTES = 8;
/** How many grants a client remembers at least, so that a late waiter of an ended one is rung at once. */
const LEAST_REMEMBERED = 1_024;
/** How many of them are looked at for each new one: at most every second is still held. */
const LOOKED_AT = 4;
/** How many waiters of one record are rung. The others poll. */
const MOST_WAITERS = 256;
/** The shortest time between two reads of one record for requests, and the most such reads of a client in a second. */
const LOOK_PAUSE_MS = 250;
const MOST_LOOKS_PER_SECOND = 20;

/** A record that this client held, and who waits for it. */
interface Bell {
  readonly ref: RecordRef;
  /** The last grant of this client. Weak: the client remembers ended leases here, and must not keep them in memory. */
  hold: WeakRef<RungHold>;
  isFreed: boolean;
  /** In the order in which they came. */
  readonly waiters: Map<RingLine, string>;
  /**
   * The connection that is rung before the others, for which a claim would be refused: of the last asker, or of the
   * waiter whose turn it is next.
   */
  next: RingLine | undefined;
  lookedMs: number;
  /** The next read for a request. */
  look: Timer | undefined;
}

interface Grant {
  readonly proof: Buffer;
  readonly hold: WeakRef<RungHold>;
  readonly bell: Bell;
}

/**
 * The holder's side: knows who waits for the records of this client, and rings them. Of the waiters of one record, the
 * first is told to claim and the others to look: if all claimed, each release would cost a refused write a waiter.
 */
export class Bells {
  readonly #context: ClientContext;
  readonly #port: RingPort;
  readonly #marks: RingMarks;
  /** Two ids, since one has a few fixed bits. */
  readonly #secret: string;
  readonly #grants = new Map<string, Grant>();
  readonly #bells = new Map<string, Bell>();
  /** For which records each connection waits. */
  readonly #waitsFor = new WeakMap<RingLine, Set<Bell>>();
  readonly #looks: Meter;

  constructor(context: ClientContext, port: RingPort, marks: RingMarks) {
    this.#context = context;
    this.#port = port;
    this.#marks = marks;
    this.#secret = context.random.id() + context.random.id();
    this.#looks = new Meter(() => context.nowMs(), MOST_LOOKS_PER_SECOND);
  }

  markOf(ref: RecordRef, holder: string): string | undefined {
    const { address } = this.#port;
    if (address === undefined || !isRung(ref)) return undefined;
    return this.#marks.markOf(holder, {
      address,
      token: this.#token(holder).toString("base64url"),
    });
  }

  began(hold: RungHold): void {
    const { ref } = hold;
    if (!isRung(ref)) return;
    const weak = new WeakRef(hold);
    const bell = this.#bells.get(keyOf(ref)) ?? newBell(ref, weak);
    bell.hold = weak;
    bell.isFreed = false;
    this.#bells.set(keyOf(ref), bell);
    const token = this.#token(hold.held.holder);
    const proof = token.subarray(LOOKUP_BYTES);
    this.#grants.set(lookupOf(token), { proof, hold: weak, bell });
    this.#forgetOldest();
  }

  freed(ref: RecordRef): void {
    const bell = this.#bells.get(keyOf(ref));
    // The release of a lease that ended long ago may come while this client has the lock again.
    if (bell === undefined || bell.hold.deref()?.isHeld === true) return;
    bell.isFreed = true;
    const isBehind = ref.isEntry === true && ref.kind === "lock";
    const lock = isBehind ? this.#bells.get(keyOf({ ...ref, isEntry: false })) : undefined;
    if (lock?.isFreed === false) this.#moveTo(lock, bell);
    const { next } = bell;
    const token = next && bell.waiters.get(next);
    if (next !== undefined && token !== undefined) {
      this.#remove(bell, next);
      say(next, "free", token);
    }
    // A waiter in a queue that has left it was not granted the lock: only a read shows who is before the next one.
    let kind: FrameKind = token !== undefined || (isBehind && lock === undefined) ? "look" : "free";
    for (const [line, waiting] of bell.waiters) {
      this.#remove(bell, line);
      say(line, kind, waiting);
      kind = "look";
    }
    bell.next = undefined;
  }

  /** The waiters behind an entry whose client has the lock: they are rung at the release of the lock. */
  #moveTo(lock: Bell, entry: Bell): void {
    for (const [line, token] of entry.waiters) {
      this.#remove(entry, line);
      // It may wait for the lock already.
      if (!lock.waiters.has(line)) this.#add(lock, line, token);
      lock.next ??= line;
    }
  }

  #remove(bell: Bell, line: RingLine): void {
    bell.waiters.delete(line);
    this.#waitsFor.get(line)?.delete(bell);
  }

  /** Accepts a connection. Closes it after a frame that no client of this table would send. */
  accept(line: RingLine): LineEvents {
    const meter = new Meter(() => this.#context.nowMs(), MOST_FRAMES_PER_SECOND);
    let isKnown = false;
    return {
      received: (bytes) => {
        const frame = meter.allows() ? decodeFrame(bytes) : undefined;
        const grant = frame && this.#grantOf(frame.token);
        if (frame === undefined) return line.close();
        // A client that has named one grant may wait for another of a process that listened here before.
        if (grant === undefined) return isKnown ? undefined : line.close();
        isKnown = true;
        if (frame.kind === "wait") this.#wait(grant.bell, line, frame.token);
        else if (frame.kind === "asked") this.#asked(grant.bell, line);
        else line.close();
      },
      closed: () => {
        for (const bell of this.#waitsFor.get(line) ?? []) bell.waiters.delete(line);
      },
    };
  }

  close(): void {
    for (const { look } of this.#bells.values()) look?.cancel();
  }

  #wait(bell: Bell, line: RingLine, token: string): void {
    if (bell.isFreed) {
      say(line, "free", token);
      return;
    }
    if (!bell.waiters.has(line) && bell.waiters.size >= MOST_WAITERS) return;
    say(line, "heard", token);
    this.#add(bell, line, token);
  }

  #add(bell: Bell, line: RingLine, token: string): void {
    bell.waiters.set(line, token);
    this.#waitsFor.set(line, (this.#waitsFor.get(line) ?? new Set()).add(bell));
    const hold = bell.hold.deref();
    if (hold?.isHeld === true) hold.requested.waited();
  }

  #asked(bell: Bell, line: RingLine): void {
    bell.next = line;
    if (bell.look !== undefined || bell.ref.isEntry === true) return;
    const { timers } = this.#context;
    const delayMs = Math.max(0, bell.lookedMs + LOOK_PAUSE_MS - this.#context.nowMs());
    bell.look = timers.set(delayMs, false, () => {
      bell.look = undefined;
      const hold = bell.hold.deref();
      if (bell.isFreed || hold?.isHeld !== true || !this.#looks.allows()) return;
      bell.lookedMs = this.#context.nowMs();
      this.#context.inBackground(async () => void (await hold.look()));
    });
  }

  #grantOf(token: string): Grant | undefined {
    const bytes = Buffer.from(token, "base64url");
    const grant = this.#grants.get(lookupOf(bytes));
    if (grant === undefined) return undefined;
    return timingSafeEqual(grant.proof, bytes.subarray(LOOKUP_BYTES)) ? grant : undefined;
  }

  // Nothing is stored for an attempt: most attempts of a waiter are refused.
  #token(holder: string): Buffer {
    return createHmac("sha256", this.#secret).update(holder).digest().subarray(0, TOKEN_BYTES);
  }

  #forgetOldest(): void {
    const most = Math.max(LEAST_REMEMBERED, 2 * this.#context.holds.size);
    let looks = LOOKED_AT;
    for (const [lookup, grant] of this.#grants) {
      if (this.#grants.size <= most || looks === 0) return;
      looks -= 1;
      this.#grants.delete(lookup);
      const { hold, bell } = grant;
      // Behind the others, so that it is not looked at again at each grant.
      if (hold.deref()?.isHeld === true) this.#grants.set(lookup, grant);
      else if (bell.hold === hold) this.#bells.delete(keyOf(bell.ref));
    }
  }
}

function newBell(ref: RecordRef, hold: WeakRef<RungHold>): Bell {
  return {
    ref,
    hold,
    isFreed: false,
    waiters: new Map(),
    next: undefined,
    lookedMs: Number.NEGATIVE_INFINITY,
    look: undefined,
  };
}

/** Entries have keys of their own. The lock of an entry is found by its name. */
function keyOf({ id, kind, name, namespace, isEntry }: RecordRef): string {
  return isEntry === true ? id : JSON.stringify([kind, name, namespace]);
}

function lookupOf(token: Buffer): string {
  return token.toString("latin1", 0, LOOKUP_BYTES);
}

function say(line: RingLine, kind: FrameKind, token: string): void {
  line.send(encodeFrame({ kind, token }));
}

/** Whether others wait for the record itself: for a permit they wait at the record of all permits. */
function isRung({ kind, permit, isEntry }: RecordRef): boolean {
  return isEntry === true || (permit === undefined && (kind === "lock" || kind === "leader"));
}
