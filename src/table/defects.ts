import type { TableDescription } from "@aws-sdk/client-dynamodb";
import type { LockFormat } from "../core/record/format-types.js";
import { keySchemaOf, type TableFormat, type TableSchema } from "./schema.js";

/** What is wrong with a table, and what to do about it. */
export interface Defect {
  readonly check: "key" | "ttl" | "replication";
  readonly message: string;
  readonly fix: string;
}

/** Whether its key is the one that was configured; the names of a format's key are not always to choose. Pure. */
export function keyDefects(
  description: TableDescription,
  { keys }: TableSchema,
  format: TableFormat | LockFormat = "native",
): Defect[] {
  const spell = (
    schema: readonly { AttributeName?: string | undefined; KeyType?: string | undefined }[],
  ) => schema.map(({ AttributeName, KeyType }) => `${AttributeName} (${KeyType})`).join(", ");
  const found = spell(description.KeySchema ?? []);
  const expected = spell(keySchemaOf(keys));
  const types = (description.AttributeDefinitions ?? [])
    .filter(({ AttributeName }) => AttributeName === keys.pk || AttributeName === keys.sk)
    .filter(({ AttributeType }) => AttributeType !== "S");
  const defect = (message: string, fix: string): Defect => ({ check: "key", message, fix });
  return [
    ...(found === expected
      ? []
      : [defect(`Its key is ${found}, not ${expected}`, keysFix(format))]),
    ...types.map(({ AttributeName, AttributeType }) =>
      defect(
        `Its key attribute ${AttributeName} is of type ${AttributeType}, not S`,
        "use another table.",
      ),
    ),
  ];
}

function keysFix(format: TableFormat | LockFormat): string {
  if (format === "object-commit") return "use another table.";
  if (format === "native") {
    return "name its attributes in `keys` (`sk: null` for none), or use another table.";
  }
  return "name its attributes in the options of the `format`, if it has such, or use another table.";
}

/** What a table's TTL looks at: undefined while it is off. */
export interface Ttl {
  readonly attribute: string | undefined;
  /** Whether it is being turned off, which takes up to an hour; nobody promises that nothing is deleted until then. */
  readonly isEnding: boolean;
}

/** Whether its TTL looks at the right attribute. Pure. */
export function ttlDefects({ attribute, isEnding }: Ttl, schema: TableSchema): Defect[] {
  if (isEnding) {
    const then =
      schema.ttlAttribute === null ? "." : `, then turn it on for \`${schema.ttlAttribute}\`.`;
    const message = `Its TTL on \`${attribute}\` is being turned off`;
    return [{ check: "ttl", message, fix: `wait until it is off, at most an hour${then}` }];
  }
  if (attribute === (schema.ttlAttribute ?? undefined)) return [];
  if (schema.ttlAttribute === null) {
    const message =
      `Its TTL looks at \`${attribute}\`, and clients of this format never move what it reads: it may ` +
      "delete a lock that is held";
    return [{ check: "ttl", message, fix: "turn it off (UpdateTimeToLive)." }];
  }
  const fix =
    `turn it on for \`${schema.ttlAttribute}\` (UpdateTimeToLive, or \`holdfast table create\`), ` +
    "so that records of names no longer used are tidied away.";
  const message =
    attribute === undefined
      ? "Its TTL is off"
      : `Its TTL looks at \`${attribute}\`, which deletes what it should not`;
  return [{ check: "ttl", message, fix }];
}

/** Whether it is replicated in a way that lets two regions both succeed. Pure. */
export function replicaDefects(
  description: TableDescription,
  homeRegion: string | undefined,
): Defect[] {
  const regions = regionsOf(description);
  // An older SDK does not know the field; the server's answer carries it all the same.
  const { MultiRegionConsistency } = description as { MultiRegionConsistency?: string };
  if (regions.length === 0 || MultiRegionConsistency === "STRONG") return [];
  const defect = (message: string, fix: string): Defect[] => [
    { check: "replication", message, fix },
  ];
  if (homeRegion === undefined) {
    return defect(
      `It is replicated to ${regions.join(", ")} with the last writer winning, so two regions can both ` +
        "be granted one lock",
      "use a table of one region, or of multi-region strong consistency, or " +
        "name the one region in which all clients take their locks as `homeRegion`.",
    );
  }
  if (regions.includes(homeRegion)) return [];
  return defect(
    `\`homeRegion\` is ${homeRegion}, but its replicas are in ${regions.join(", ")}`,
    "name one of them.",
  );
}

/** The regions of its replicas. Pure. */
export function regionsOf(description: TableDescription): string[] {
  return (description.Replicas ?? []).map(({ RegionName }) => RegionName ?? "?");
}
