import { idFrom, type Random } from "../../packages/holdfast/src/platform/random.js";
import { seededRandom } from "../../packages/testing/src/time/seeded-random.js";

/**
 * Draws random values as a copied machine does: equal bytes and numbers in every copy, at different times. `momentMs`:
 * since the start of the run. The moment of an id has nanoseconds, as in the library; milliseconds since 1970 would have
 * steps of 244 of them.
 */
export function copiedRandom(momentMs: () => number, snapshot: number): Random {
  const [bytes, numbers] = [seededRandom(snapshot), seededRandom(snapshot)];
  return {
    fraction: () => numbers.fraction(),
    id: () => idFrom(Buffer.from(bytes.id()), `${Math.floor(1e6 * momentMs())}`),
  };
}
