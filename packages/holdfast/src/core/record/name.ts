import { refuse } from "../../internal/option-names.js";

// A partition key of DynamoDB holds 2,048 bytes; the kind and the format use the rest.
export const LONGEST_NAME_BYTES = 1_900;
/** The bytes of a partition key, and of a sort key. */
export const KEY_BYTES = { partition: 2_048, sort: 1_024 } as const;

// A sort key holds 1,024 bytes. Each byte of a namespace takes up to three there, and a ticket follows.
const LONGEST_NAMESPACE_BYTES = 300;

/** Checks a namespace: any well-formed string of 1 to 300 bytes. Throws `invalid-argument`. */
export function checkNamespace(namespace: string): string {
  const isGood =
    typeof namespace === "string" && namespace !== "" && !/\p{Surrogate}/u.test(namespace);
  if (isGood && Buffer.byteLength(namespace) <= LONGEST_NAMESPACE_BYTES) return namespace;
  throw refuse(
    `The option \`namespace\` must be a well-formed string of 1 to ${LONGEST_NAMESPACE_BYTES} bytes.`,
  );
}

/** Checks a name: any well-formed Unicode string of 1 byte to this number. Throws `invalid-argument`. */
export function checkName(name: string, mostBytes: number = LONGEST_NAME_BYTES): string {
  if (typeof name !== "string" || name === "") {
    throw refuse("The name of a lock must be a non-empty string.");
  }
  // The SDK sends a lone surrogate as U+FFFD: two different names would share one lock.
  if (/\p{Surrogate}/u.test(name)) {
    throw refuse("The name of a lock must not have half of a surrogate pair.");
  }
  const bytes = Buffer.byteLength(name);
  if (bytes > mostBytes) {
    throw refuse(
      `The name of a lock has at most ${mostBytes} bytes; this name has ${bytes}. ` +
        "Use a hash of the name.",
    );
  }
  return name;
}
