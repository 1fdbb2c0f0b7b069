import type { Tables } from "./storage/tables.js";

/** The parts of the engine that every operation may use. */
export interface Context {
  readonly tables: Tables;
  /** Milliseconds since 1970. */
  readonly nowMs: number;
}

/** An answer's body. */
export type Answer = { readonly [name: string]: unknown };
