/** The oldest Node.js for this command, as in `engines` of package.json. */
const OLDEST = [22, 12] as const;

/**
 * Returns why these versions cannot run the command, or undefined. Bun and Deno show a version of Node.js that they do not
 * keep up with.
 */
export function tooOldNode(
  versions: Readonly<Record<string, string | undefined>>,
): string | undefined {
  if (versions["bun"] !== undefined || versions["deno"] !== undefined) return undefined;
  const [major = 0, minor = 0] = (versions["node"] ?? "").split(".").map(Number);
  if (major > OLDEST[0] || (major === OLDEST[0] && minor >= OLDEST[1])) return undefined;
  return `This is Node.js ${versions["node"]}; holdfast needs Node.js ${OLDEST.join(".")} or later.`;
}
