// Counts the requests of renewal schedules without real locks: each lease is a number, the time of its next
// renewal. test/bench/scale.test.ts compares the counts with real locks.
import { createHash } from "node:crypto";

/**
 * The earliest instants of the first and the second renewal after a grant, as shares of the period; the latest
 * is the whole period. This spreads leases that were granted together. Later renewals come a period apart.
 */
const EARLIEST = [0.9, 0];

/** How many writes a second some schedules send once their beginnings have been forgotten. */
export const writesASecond = (count, renewMs) => count / (renewMs / 1_000);

/**
 * The writes in each second from `fromS` to `toS`. `count` leases are granted evenly over `grantedOverMs` from
 * 0 on, and renewed every `renewMs`. `fraction` is the source of randomness, from 0 to 1.
 */
export function renewalsBySecond({ count, renewMs, grantedOverMs, fromS, toS, fraction }) {
  const bySecond = new Uint32Array(toS - fromS);
  for (let lock = 0; lock < count; lock += 1) {
    let atMs = (grantedOverMs * lock) / count;
    for (let sent = 0; ; sent += 1) {
      const earliest = EARLIEST[sent] ?? 1;
      atMs += renewMs * (earliest + (1 - earliest) * fraction());
      if (atMs >= toS * 1_000) break;
      if (atMs >= fromS * 1_000) bySecond[Math.floor(atMs / 1_000) - fromS] += 1;
    }
  }
  return bySecond;
}

/** The places of `count` keys in a space of 2^32, by a hash, as DynamoDB finds partitions. */
export function placesOf(count, nameOf) {
  const places = new Uint32Array(count);
  for (let at = 0; at < count; at += 1) {
    places[at] = createHash("md5").update(nameOf(at)).digest().readUInt32BE(0);
  }
  return places;
}

/** How many keys fall into the fullest of so many equal parts of the key space. */
export function fullestPart(places, parts) {
  const found = new Uint32Array(parts);
  for (const place of places) found[Math.floor((place / 2 ** 32) * parts)] += 1;
  return mostOf(found);
}

export const sumOf = (bySecond) => bySecond.reduce((sum, one) => sum + one, 0);
export const mostOf = (bySecond) => bySecond.reduce((most, one) => Math.max(most, one), 0);
