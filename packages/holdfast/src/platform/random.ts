import { createHash, randomBytes } from "node:crypto";

/** The one source of randomness. */
export interface Random {
  /** Returns an id that no other call of any process returns. */
  id(): string;
  /** Returns a random number, evenly spread, at least 0 and below 1. */
  fraction(): number;
}

/** The randomness of this machine. */
export const systemRandom: Random = {
  // `randomUUID()` draws 128 ids in advance: two processes restored from one snapshot would draw the same ids.
  id: () => idFrom(randomBytes(16), `${process.pid} ${Date.now()} ${process.hrtime.bigint()}`),
  fraction: () => Math.random(),
};

/**
 * Makes an id in the form of a UUID from random bytes and the current moment. Pure. A snapshot copies the
 * random generator, so two copies of a process may draw the same bytes, but not at the same moment.
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
