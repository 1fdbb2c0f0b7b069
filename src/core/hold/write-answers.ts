import type { HoldfastError } from "../../errors.js";
import type { Write } from "../../platform/table.js";
import type { HeldRecord } from "../record/record.js";

/** The four answers of a renewal (R6). Only `renewed` moves the deadline; `unknown` is sent again. */
export type RenewalAnswer = "renewed" | "held" | "lost" | "unknown";

/** A write under the hold: what it looks like, and whether an item that refused it shows it applied. */
export interface HoldWrite {
  readonly write: Write;
  readonly isIn: (record: HeldRecord) => boolean;
}

/** What became of a write under the hold; `mine` is a refusal that still shows this very grant. */
export type HoldAnswer =
  | { readonly kind: "applied" | "mine"; readonly record: HeldRecord }
  | { readonly kind: "lost" | "unknown" }
  /** Not applied, and it would not be if it were sent again. */
  | { readonly kind: "misconfigured"; readonly error: HoldfastError };
