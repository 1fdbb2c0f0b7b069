import { createHash, randomBytes } from "node:crypto";

/** The one source of randomness. */
export interface Random {
  /** Returns an id that no other call of any process returns. */
  id(): string;
  /** Returns a random number, evenly spread, at least 0 and below 1. */
  fraction(): number;
}

const BYTES_AN_ID = 16;
const IDS_A_BLOCK = 64;
// A process restored from a snapshot later than this draws bytes of its own at once.
const OLDEST_BLOCK_MS = 1_000;

/** Random bytes for ids, drawn for many ids at once: a draw costs as much for one id as for many. */
export class IdBytes {
  readonly #draw: (count: number) => Uint8Array;
  #block: Uint8Array = new Uint8Array();
  #used = 0;
  #drawnMs = 0;

  /** `draw` returns this many random bytes. */
  constructor(draw: (count: number) => Uint8Array) {
    this.#draw = draw;
  }

  /** Returns the bytes for one id, and never the same bytes again. `nowMs`: the wall clock. */
  next(nowMs: number): Uint8Array {
    const ageMs = nowMs - this.#drawnMs;
    if (this.#used >= this.#block.length || ageMs < 0 || ageMs > OLDEST_BLOCK_MS) {
      this.#block = this.#draw(IDS_A_BLOCK * BYTES_AN_ID);
      this.#used = 0;
      this.#drawnMs = nowMs;
    }
    const from = this.#used;
    this.#used += BYTES_AN_ID;
    return this.#block.subarray(from, this.#used);
  }
}

const idBytes = new IdBytes(randomBytes);

/** The randomness of this machine. */
export const systemRandom: Random = {
  // Not `randomUUID()`, whose ids are equal in two processes restored from one snapshot: the moment makes them differ.
  id: () => {
    const nowMs = Date.now();
    return idFrom(idBytes.next(nowMs), `${process.pid} ${nowMs} ${process.hrtime.bigint()}`);
  },
  fraction: () => Math.random(),
};

/**
 * Makes an id in the form of a UUID from random bytes and the current moment. Pure. A snapshot copies the
 * random generator and the bytes drawn in advance, so two copies of a process may use the same bytes, but not at the
 * same moment.
 */
export function idFrom(bytes: Uint8Array, moment: string): string {
  const hex = createHash("sha256").update(bytes).update(moment).digest("hex");
  const variant = "89ab".charAt(Number.parseInt(hex.charAt(16), 16) % 4);
  return [
    hex.slice(0, 8),
    hex.slice(8, 12),
    `4${hex.slice(13, 16)}`,
    `${variant}${hex.slice(17, 20)}`,
    hex.slice(20, 32),
  ].join("-");
}
