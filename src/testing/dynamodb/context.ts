import type { Tables } from "./tables.js";

/** What every operation may use. */
export interface Context {
  readonly tables: Tables;
  /** Milliseconds since 1970. */
  readonly nowMs: number;
}

/** An answer's body. */
export type Answer = { readonly [name: string]: unknown };
