import { HoldfastError } from "holdfast";
import type { Item, Write } from "holdfast/internal";
import { sizeBytes } from "./capacity.js";
import { changed } from "./interpret.js";

const MOST_ITEM_BYTES = 400 * 1024;

/** The size of the item that a refused write would have made. */
export function attemptedBytes(write: Write, before: Item | undefined): number {
  // A refused write may be impossible to apply; then there is no size to charge.
  try {
    return sizeBytes(made(write, before));
  } catch {
    return 0;
  }
}

/** The item after the write; undefined after a delete. Throws for an item above the size limit. */
export function made(write: Write, before: Item | undefined): Item | undefined {
  if (write.as === "delete") return undefined;
  const after = changed(write.key, write.change, write.as === "put" ? undefined : before);
  const bytes = sizeBytes(after);
  if (bytes <= MOST_ITEM_BYTES) return after;
  throw new HoldfastError(
    "misconfigured",
    `The item would have ${bytes} bytes, more than DynamoDB's 400 KB.`,
  );
}
