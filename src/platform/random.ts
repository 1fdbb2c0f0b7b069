import { randomUUID } from "node:crypto";

/** The one source of chance. */
export interface Random {
  /** An id that no other process and no other call will ever make. */
  id(): string;
  /** Evenly spread, at least 0 and below 1. */
  fraction(): number;
}

/** The chance of this machine. */
export const systemRandom: Random = { id: () => randomUUID(), fraction: () => Math.random() };
