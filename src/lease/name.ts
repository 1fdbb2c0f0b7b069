import { HoldfastError } from "../errors.js";

// DynamoDB's partition keys hold 2,048 bytes; the rest is left to the kind and to formats.
const LONGEST_NAME_BYTES = 1_900;

/** Checks a name; throws `invalid-argument`. Any well-formed Unicode string of 1 to 1,900 bytes is one. */
export function checkName(name: string): string {
  if (typeof name !== "string" || name === "") {
    throw new HoldfastError("invalid-argument", "The name of a lock must be a non-empty string.");
  }
  // A lone surrogate is sent as U+FFFD: two different names would share one lock.
  if (/\p{Surrogate}/u.test(name)) {
    throw new HoldfastError(
      "invalid-argument",
      "The name of a lock must be well-formed Unicode; this one has half of a surrogate pair.",
    );
  }
  const bytes = Buffer.byteLength(name);
  if (bytes > LONGEST_NAME_BYTES) {
    throw new HoldfastError(
      "invalid-argument",
      `The name of a lock has at most ${LONGEST_NAME_BYTES} bytes; this one has ${bytes}. ` +
        "Use a hash of it.",
    );
  }
  return name;
}
