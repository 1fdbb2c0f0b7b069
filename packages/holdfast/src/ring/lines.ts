import type { ClientContext } from "../core/context.js";
import type { Ringable } from "../core/rings.js";
import type { RingMark, RingMarks } from "../native/native-rings.js";
import type { Timer } from "../platform/timers.js";
import { RingEar } from "./ear.js";
import { decodeFrame, encodeFrame } from "./frames.js";
import { Meter, MOST_FRAMES_PER_SECOND } from "./meter.js";
import type { RingLine, RingPort } from "./port.js";

/** How many other clients a client is connected to. */
const MOST_LINES = 64;
/** How long a connection without waiters stays open, for the next one. */
const IDLE_MS = 10_000;
/** How many waits a second a client sends on one connection: half of what the other client reads. The others poll. */
const MOST_WAITS_PER_SECOND = MOST_FRAMES_PER_SECOND / 2;
// A holder that cannot be reached is not tried again for this long; twice as long after each further attempt.
const FIRST_REST_MS = 5_000;
const LONGEST_REST_MS = 300_000;
const MOST_RESTING = 1_024;

/** A connection to another client, for all waiters of this one. */
interface Line {
  readonly ears: Map<string, Set<RingEar>>;
  /** The tokens that were named on it, as long as it is not proven. */
  readonly tokens: Set<string>;
  readonly pace: Meter;
  connection: RingLine | undefined;
  /** Whether the other client has answered with a token that this client asked by. */
  isProven: boolean;
  idle: Timer | undefined;
}

interface Rest {
  readonly untilMs: number;
  readonly lengthMs: number;
}

/** The waiter's side: the connections to the holders that this client waits for. */
export class Lines {
  readonly #context: ClientContext;
  readonly #port: RingPort;
  readonly #marks: RingMarks;
  readonly #lines = new Map<string, Line>();
  /** By address and token: another process may listen at the address of one that has gone. */
  readonly #resting = new Map<string, Rest>();
  #isClosed = false;

  constructor(context: ClientContext, port: RingPort, marks: RingMarks) {
    this.#context = context;
    this.#port = port;
    this.#marks = marks;
  }

  ear(): RingEar {
    return new RingEar(this.#context, this);
  }

  markIn(record: Ringable | undefined): RingMark | undefined {
    return record && this.#marks.markIn(record);
  }

  /** Tells the client with this mark that the ear listens. Returns false if it cannot be told now. */
  wait({ address, token }: RingMark, ear: RingEar): boolean {
    const line = this.#lineTo(address, token);
    if (line?.pace.allows() !== true) return false;
    const ears = line.ears.get(token) ?? new Set();
    line.ears.set(token, ears.add(ear));
    line.idle?.cancel();
    line.connection?.send(encodeFrame({ kind: "wait", token }));
    return true;
  }

  leave({ address, token }: RingMark, ear: RingEar): void {
    const line = this.#lines.get(address);
    const ears = line?.ears.get(token);
    if (line === undefined || ears === undefined) return;
    ears.delete(ear);
    if (ears.size > 0) return;
    line.ears.delete(token);
    this.#watchIdle(line);
  }

  asked(record: Ringable): void {
    const mark = this.markIn(record);
    const line = mark && this.#lineTo(mark.address, mark.token);
    if (mark === undefined || line === undefined) return;
    line.connection?.send(encodeFrame({ kind: "asked", token: mark.token }));
    this.#watchIdle(line);
  }

  close(): void {
    this.#isClosed = true;
    for (const line of this.#lines.values()) line.idle?.cancel();
  }

  #lineTo(address: string, token: string): Line | undefined {
    const rest = this.#resting.get(restOf(address, token));
    if (rest !== undefined && rest.untilMs > this.#context.nowMs()) return undefined;
    const line = this.#lines.get(address) ?? this.#dial(address);
    if (line?.isProven === false) line.tokens.add(token);
    return line;
  }

  #dial(address: string): Line | undefined {
    if (this.#isClosed || this.#lines.size >= MOST_LINES) return undefined;
    const nowMs = (): number => this.#context.nowMs();
    const line: Line = {
      ...{ ears: new Map(), tokens: new Set(), pace: new Meter(nowMs, MOST_WAITS_PER_SECOND) },
      ...{ connection: undefined, isProven: false, idle: undefined },
    };
    const meter = new Meter(nowMs, MOST_FRAMES_PER_SECOND);
    line.connection = this.#port.dial(address, {
      received: (bytes) => {
        if (meter.allows()) this.#received(address, line, bytes);
        else line.connection?.close();
      },
      closed: () => this.#closed(address, line),
    });
    if (line.connection === undefined) return undefined;
    this.#lines.set(address, line);
    return line;
  }

  #received(address: string, line: Line, bytes: Uint8Array): void {
    const frame = decodeFrame(bytes);
    if (frame === undefined) line.connection?.close();
    const ears = frame && line.ears.get(frame.token);
    // Without ears, it is a late ring for a waiter that has left.
    if (frame === undefined || ears === undefined) return;
    line.isProven = true;
    line.tokens.clear();
    this.#resting.delete(restOf(address, frame.token));
    if (frame.kind === "heard") {
      for (const ear of ears) ear.heard();
      return;
    }
    if (frame.kind !== "free" && frame.kind !== "look") return;
    line.ears.delete(frame.token);
    this.#watchIdle(line);
    let { kind } = frame;
    for (const ear of ears) {
      ear.rung(kind);
      kind = "look";
    }
  }

  #closed(address: string, line: Line): void {
    line.idle?.cancel();
    if (this.#lines.get(address) === line) this.#lines.delete(address);
    for (const token of line.tokens) this.#rest(restOf(address, token));
    for (const ears of line.ears.values()) {
      for (const ear of ears) ear.cutOff();
    }
    line.ears.clear();
  }

  #rest(key: string): void {
    const { lengthMs = FIRST_REST_MS / 2 } = this.#resting.get(key) ?? {};
    const restMs = Math.min(2 * lengthMs, LONGEST_REST_MS);
    this.#resting.delete(key);
    this.#resting.set(key, { lengthMs: restMs, untilMs: this.#context.nowMs() + restMs });
    const [oldest] = this.#resting.keys();
    if (this.#resting.size > MOST_RESTING && oldest !== undefined) this.#resting.delete(oldest);
  }

  #watchIdle(line: Line): void {
    if (line.ears.size > 0) return;
    line.idle?.cancel();
    line.idle = this.#context.timers.set(IDLE_MS, false, () => line.connection?.close());
  }
}

function restOf(address: string, token: string): string {
  return `${address} ${token}`;
}
