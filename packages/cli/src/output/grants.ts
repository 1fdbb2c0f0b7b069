/** More grants than a table serves between two looks: then one grant with `keep` has reserved a block of fences. */
const LEAST_BLOCK = 4_096n;

/** Returns how many grants came between those with two fences of a name, as far as fences tell. Pure. */
export function grantsBetween(fence: bigint, before: bigint | undefined): bigint {
  const between = before === undefined ? 0n : fence - before - 1n;
  return between < 0n || between >= LEAST_BLOCK ? 0n : between;
}
