import type { Item } from "../platform/table.js";

/** What a record of each format always has, its key aside. */
const MARKS: readonly (readonly [string, readonly string[]])[] = [
  ["native", ["v", "fence", "version"]],
  ["aws-lock-client", ["ownerName", "leaseDuration", "recordVersionNumber"]],
  ["dynamodb-lease", ["lease_version", "lease_expiry"]],
  ["lock-client-fail-open", ["owner", "guid", "fencingToken", "leaseDurationMs"]],
];

/** For a message about a record that is not of format `asked`: which it seems to be of, if any. Pure. */
export function looksLike(item: Item, asked: string): string {
  const [format] = MARKS.find(([, marks]) => marks.every((mark) => item[mark])) ?? [];
  const name = format === "aws-lock-client" && hasGoLength(item) ? "dynamolock" : format;
  return name === undefined || name === asked ? "" : `, and looks like one of format "${name}"`;
}

// The two differ in nothing else: whole milliseconds, or a number with its unit.
function hasGoLength({ leaseDuration }: Item): boolean {
  return leaseDuration !== undefined && "S" in leaseDuration && /[a-zµ]$/.test(leaseDuration.S);
}
