import { idFrom, type Random } from "../../packages/holdfast/src/platform/random.js";
import { seededRandom } from "../../packages/testing/src/time/seeded-random.js";

/**
 * Draws random values as a copied machine does: equal bytes and numbers in every copy, at different times. The moment
 * of an id has the fraction of a millisecond, as in the library, which reads nanoseconds.
 */
export function copiedRandom(momentMs: () => number, snapshot: number): Random {
  const [bytes, numbers] = [seededRandom(snapshot), seededRandom(snapshot)];
  return {
    fraction: () => numbers.fraction(),
    id: () => idFrom(Buffer.from(bytes.id()), `${momentMs()}`),
  };
}
