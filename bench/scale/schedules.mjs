// Counts what schedules of renewals send, without making a lock: one number each, the instant of its next renewal.
// test/bench/scale.test.ts compares the counts with those of real locks.
import { createHash } from "node:crypto";

/**
 * Between which share of its period and the whole of it the first renewal after a grant is planned, and the second,
 * which spreads leases that were granted together. Those after them come a period apart.
 */
const EARLIEST = [0.9, 0];

/** How many writes a second some schedules send once their beginnings have been forgotten. */
export const writesASecond = (count, renewMs) => count / (renewMs / 1_000);

/**
 * Writes in each second from `fromS` to `toS`, of `count` leases that were granted evenly over `grantedOverMs` from
 * 0 on and are renewed every `renewMs`. `fraction` is the source of chance, from 0 to 1.
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

/** Where so many keys lie in a space of 2^32, by a hash as partitions are found by one. */
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
