import { HoldfastError } from "../errors.js";

const LONGEST_KEY_BYTES = 1_024;

const refuse = (message: string): HoldfastError => new HoldfastError("invalid-argument", message);

/** Checks an object's key. Throws `invalid-argument`. */
export function checkKey(key: string): string {
  const bytes = typeof key === "string" ? Buffer.byteLength(key) : 0;
  if (bytes >= 1 && bytes <= LONGEST_KEY_BYTES) return key;
  throw refuse(`The key of an object must be a text of 1 to ${LONGEST_KEY_BYTES} bytes.`);
}

/** Checks an ETag that is expected. Throws `invalid-argument`. */
export function checkEtag(etag: string): string {
  // "*" would stand for the record of a create, and in a header for any object.
  if (typeof etag === "string" && etag !== "" && etag !== "*") return etag;
  throw refuse(
    "An ETag must be the text that the object store gave, with its quotation marks; " +
      `it is ${JSON.stringify(etag)}.`,
  );
}

/** Checks that an object was not asked to become itself. Throws `invalid-argument`. */
export function checkApart(from: string, to: string): void {
  if (checkKey(from) !== checkKey(to)) return;
  throw refuse(`Object "${from}" cannot be copied to itself.`);
}
