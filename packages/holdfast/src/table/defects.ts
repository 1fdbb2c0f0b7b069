import type { TableDescription } from "@aws-sdk/client-dynamodb";
import type { LockFormat } from "../core/record/format-types.js";
import { keySchemaOf, type TableFormat, type TableSchema } from "./schema.js";

/** A problem of a table, and its fix. */
export interface Defect {
  readonly check: "table" | "key" | "ttl" | "replication";
  readonly message: string;
  readonly fix: string;
}

/** Checks that the table serves requests: not while it is created or deleted, archived, or without its key for encryption. Pure. */
export function statusDefects({ TableStatus: status = "ACTIVE" }: TableDescription): Defect[] {
  if (status === "ACTIVE" || status === "UPDATING") return [];
  const fix = "wait until it is ACTIVE, make it ACTIVE, or use another table.";
  return [{ check: "table", message: `The table's status is ${status}`, fix }];
}

/** Checks that the table has the configured key. Some formats have fixed key names. Pure. */
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
      : [defect(`The key is ${found}, not ${expected}`, keysFix(format))]),
    ...types.map(({ AttributeName, AttributeType }) =>
      defect(
        `The key attribute ${AttributeName} has type ${AttributeType}, not S`,
        "use another table.",
      ),
    ),
  ];
}

function keysFix(format: TableFormat | LockFormat): string {
  if (format === "object-commit") return "use another table.";
  if (format === "native") {
    return "set the table's key attributes in `keys` (`sk: null` for none), or use another table.";
  }
  return (
    "set the table's key attributes in the options of the `format`, if the format has such options, " +
    "or use another table."
  );
}

/** The TTL attribute of a table, undefined while TTL is off. */
export interface Ttl {
  readonly attribute: string | undefined;
  /**
   * Whether TTL is being turned off. This takes up to an hour, and DynamoDB may still delete items meanwhile.
   */
  readonly isEnding: boolean;
}

/** Checks that TTL reads the right attribute. Pure. */
export function ttlDefects({ attribute, isEnding }: Ttl, schema: TableSchema): Defect[] {
  if (isEnding) {
    const then =
      schema.ttlAttribute === null ? "." : `, then turn it on for \`${schema.ttlAttribute}\`.`;
    const message = `TTL on \`${attribute}\` is being turned off`;
    return [{ check: "ttl", message, fix: `wait until TTL is off, at most an hour${then}` }];
  }
  if (attribute === (schema.ttlAttribute ?? undefined)) return [];
  if (schema.ttlAttribute === null) {
    const message =
      `TTL is on for \`${attribute}\`, but clients of this format never update this attribute, so TTL may ` +
      "delete a held lock";
    return [{ check: "ttl", message, fix: "turn TTL off (UpdateTimeToLive)." }];
  }
  const fix =
    `turn TTL on for \`${schema.ttlAttribute}\` (UpdateTimeToLive, or \`holdfast table create\`), ` +
    "so that DynamoDB deletes the records of unused names.";
  const message =
    attribute === undefined
      ? "TTL is off"
      : `TTL is on for \`${attribute}\` and deletes records in use`;
  return [{ check: "ttl", message, fix }];
}

/** Checks that replication cannot grant one lock in two regions. Pure. */
export function replicaDefects(
  description: TableDescription,
  homeRegion: string | undefined,
): Defect[] {
  const regions = regionsOf(description);
  if (regions.length === 0 || isStrong(description)) return [];
  const defect = (message: string, fix: string): Defect[] => [
    { check: "replication", message, fix },
  ];
  if (homeRegion === undefined) {
    return defect(
      `The table is replicated to ${regions.join(", ")} and the last writer wins, so two regions can both ` +
        "grant the same lock",
      "use a table of one region, or of multi-region strong consistency, or " +
        "set `homeRegion` to the one region in which all clients take their locks.",
    );
  }
  if (regions.includes(homeRegion)) return [];
  return defect(
    `\`homeRegion\` is ${homeRegion}, but the replicas are in ${regions.join(", ")}`,
    "set `homeRegion` to a region with a replica.",
  );
}

function isStrong(description: TableDescription): boolean {
  // An older SDK has no type for this field; the server's answer contains the field anyway.
  return (description as { MultiRegionConsistency?: string }).MultiRegionConsistency === "STRONG";
}

/** Describes a replication without a defect. Pure. */
export function replicationText(description: TableDescription, homeRegion?: string): string {
  const regions = regionsOf(description);
  if (regions.length === 0) return "The table is in one region.";
  return (
    `The table is replicated to ${regions.join(", ")}` +
    (isStrong(description)
      ? ", with strong consistency; locks are safe."
      : `, and the last writer wins; locks are safe if all clients take them in ${homeRegion}.`)
  );
}

/** The regions of a replicated table; none of a table of one region. Pure. */
export function regionsOf({ Replicas = [], TableArn }: TableDescription): string[] {
  const replicas = Replicas.map(({ RegionName }) => RegionName ?? "?");
  // DynamoDB describes the replicas in the other regions. The region that answered is in the ARN alone.
  const own = TableArn?.split(":")[3] || undefined;
  const isListed = own === undefined || replicas.length === 0 || replicas.includes(own);
  return isListed ? replicas : [own, ...replicas];
}
