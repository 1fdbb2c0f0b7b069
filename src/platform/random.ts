import { createHash, randomBytes } from "node:crypto";

/** The one source of chance. */
export interface Random {
  /** An id that no other process and no other call will ever make. */
  id(): string;
  /** Evenly spread, at least 0 and below 1. */
  fraction(): number;
}

/** The chance of this machine. */
export const systemRandom: Random = {
  // `randomUUID()` draws 128 ids in advance: two processes restored from one snapshot would draw the same ones.
  id: () => idFrom(randomBytes(16), `${process.pid} ${Date.now()} ${process.hrtime.bigint()}`),
  fraction: () => Math.random(),
};

/**
 * An id in the form of a UUID, of random bytes and the moment at which it is drawn. Two copies of one process
 * may draw the same bytes, since a snapshot copies the generator too; they do not draw at the same moment. Pure.
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
