import { HoldfastError } from "../../errors.js";
import type { Item, Write } from "../../platform/table.js";
import { sizeBytes } from "./capacity.js";
import { changed } from "./interpret.js";

const MOST_ITEM_BYTES = 400 * 1024;

/** How large the item would be that a refused write did not make. */
export function attemptedBytes(write: Write, before: Item | undefined): number {
  // A refused write may be one that could not have been carried out; then there is no size to charge.
  try {
    return sizeBytes(made(write, before));
  } catch {
    return 0;
  }
}

/** What the write makes of the item; undefined: nothing is left of it. Throws where it would be too large. */
export function made(write: Write, before: Item | undefined): Item | undefined {
  if (write.as === "delete") return undefined;
  const after = changed(write.key, write.change, write.as === "put" ? undefined : before);
  const bytes = sizeBytes(after);
  if (bytes <= MOST_ITEM_BYTES) return after;
  throw new HoldfastError("misconfigured", `The item would have ${bytes} bytes.`);
}
