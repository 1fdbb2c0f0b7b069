import type { Item } from "../platform/table.js";

/** The attributes that every record of a format has, apart from its key. */
const MARKS: readonly (readonly [string, readonly string[]])[] = [
  ["native", ["v", "fence", "version"]],
  ["aws-lock-client", ["ownerName", "leaseDuration", "recordVersionNumber"]],
  ["dynamodb-lease", ["lease_version", "lease_expiry"]],
  ["lock-client-fail-open", ["owner", "guid", "fencingToken", "leaseDurationMs"]],
];

/** Describes, for a message, which format other than `asked` the record seems to have. Pure. */
export function looksLike(item: Item, asked: string): string {
  const [format] = MARKS.find(([, marks]) => marks.every((mark) => item[mark])) ?? [];
  const name = format === "aws-lock-client" && hasGoLength(item) ? "dynamolock" : format;
  return name === undefined || name === asked ? "" : `, and looks like one of format "${name}"`;
}

// The two formats differ only in this text: whole milliseconds, or a number with a unit.
function hasGoLength({ leaseDuration }: Item): boolean {
  return leaseDuration !== undefined && "S" in leaseDuration && /[a-zµ]$/.test(leaseDuration.S);
}
