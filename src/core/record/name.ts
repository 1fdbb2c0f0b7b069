import { HoldfastError } from "../../errors.js";

// DynamoDB's partition keys hold 2,048 bytes; the rest is left to the kind and to formats.
const LONGEST_NAME_BYTES = 1_900;

// A sort key holds 1,024 bytes, each of these takes up to three there, and a ticket stands behind it.
const LONGEST_NAMESPACE_BYTES = 300;

/** Checks a namespace; throws `invalid-argument`. Any well-formed string of 1 to 300 bytes is one. */
export function checkNamespace(namespace: string): string {
  const isGood =
    typeof namespace === "string" && namespace !== "" && !/\p{Surrogate}/u.test(namespace);
  if (isGood && Buffer.byteLength(namespace) <= LONGEST_NAMESPACE_BYTES) return namespace;
  throw new HoldfastError(
    "invalid-argument",
    `The option \`namespace\` must be a well-formed string of 1 to ${LONGEST_NAMESPACE_BYTES} bytes.`,
  );
}

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
