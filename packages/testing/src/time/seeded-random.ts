import { HoldfastError } from "holdfast";
import type { Random } from "holdfast/internal";
import { valueText } from "holdfast/internal";

/** Randomness that is repeatable by seed. */
export interface SeededRandom extends Random {
  /** The seed of this source; print the seed with every failure. */
  readonly seed: number;
  /** True with this probability, from 0 to 1. */
  chance(probability: number): boolean;
  /** A whole number from `from` to `to`, both included. */
  integer(from: number, to: number): number;
  /**
   * A new source, independent of later draws from this source. Give every process of a simulation a fork: one
   * more draw in one process then does not change the other processes' runs.
   */
  fork(): SeededRandom;
}

const TWO_TO_32 = 2 ** 32;

function rotateLeft(word: number, bits: number): number {
  return (word << bits) | (word >>> (32 - bits));
}

/** Spreads a seed over 32 bits, so that neighbouring seeds start far apart. */
function spread(word: number): number {
  let mixed = word | 0;
  mixed = Math.imul(mixed ^ (mixed >>> 16), 0x21f0aaad);
  mixed = Math.imul(mixed ^ (mixed >>> 15), 0x735a2d97);
  return (mixed ^ (mixed >>> 15)) | 0;
}

/** xoshiro128**: 32 even bits a call, with a period of 2^128 - 1. */
function makeGenerator(seed: number): () => number {
  const high = Math.floor(seed / TWO_TO_32) | 0;
  const golden = 0x9e3779b9;
  let [a, b, c, d] = [1, 2, 3, 4].map((lane) =>
    spread((seed | 0) + Math.imul(golden, lane) + Math.imul(high, 0x85ebca6b + lane)),
  ) as [number, number, number, number];
  // A state of zeros would stay zero forever.
  if ((a | b | c | d) === 0) a = golden;
  return () => {
    const result = Math.imul(rotateLeft(Math.imul(b, 5), 7), 9) >>> 0;
    const shifted = b << 9;
    c ^= a;
    d ^= b;
    b ^= c;
    a ^= d;
    c ^= shifted;
    d = rotateLeft(d, 11);
    return result;
  };
}

const hex = (value: number, digits: number): string =>
  (value >>> 0).toString(16).padStart(8, "0").slice(-digits);

/**
 * A `Random` with the same draws for the same seed on every machine.
 *
 * Ids have the shape of a UUID, so that records have their production size. An id begins with the seed and a
 * counter, which makes a trace readable. Ids are unique among all sources with different seeds below 2^32, for
 * 2^28 ids each. Two sources with the *same* seed give the same ids: never give both to processes of one
 * simulation; use a fork instead.
 *
 * @param seed a whole number from 0 to 2^53 - 1.
 */
export function seededRandom(seed: number): SeededRandom {
  if (!Number.isSafeInteger(seed) || seed < 0) {
    throw new HoldfastError(
      "invalid-argument",
      `The seed must be a whole number from 0; it is ${valueText(seed)}.`,
    );
  }
  const next = makeGenerator(seed);
  let ids = 0;
  // 53 bits: as fine as a double can be without ever rounding up to 1.
  const fraction = (): number => ((next() >>> 5) * 2 ** 26 + (next() >>> 6)) / 2 ** 53;
  return {
    seed,
    fraction,
    chance: (probability) => fraction() < probability,
    integer: (from, to) => from + Math.floor(fraction() * (to - from + 1)),
    fork: () => seededRandom(next()),
    id: () => {
      ids += 1;
      const tail = hex(next(), 3) + hex(next(), 8) + hex(next(), 4);
      return [
        hex(seed, 8),
        hex(ids >>> 12, 4),
        `4${hex(ids, 3)}`,
        `8${tail.slice(0, 3)}`,
        tail.slice(3),
      ].join("-");
    },
  };
}
