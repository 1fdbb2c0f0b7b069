import {
  awsLockClient,
  dynamodbLease,
  dynamolock,
  type LockFormat,
  lockClientFailOpen,
} from "@holdfast/formats";
import { usageError } from "./exit-codes.js";
import type { FormatOptions } from "./format.js";

/** Apart from the texts of formats: help must not wait for the package of the formats, nor for the SDK behind it. */

/** The selected format of another client; undefined for native records. Throws a usage error. */
export function formatOf(options: FormatOptions): LockFormat | undefined {
  const { format = "native", pk, sk, longestLease, maxClockSkew } = options;
  const fences = fencesOf(options);
  if (format !== "dynamodb-lease" && (longestLease || maxClockSkew)) {
    throw usageError(
      "--longest-lease and --max-clock-skew are for --format dynamodb-lease only. Leave them out.",
    );
  }
  const own = {
    ...(pk ? { partitionKeyName: pk } : {}),
    ...(sk && sk !== "none" ? { sortKeyName: sk } : {}),
    ...fences,
    ...observationsOf(options),
  };
  switch (format) {
    case "aws-lock-client":
      return awsLockClient(own as object);
    case "dynamolock":
      return dynamolock(own as object);
    case "lock-client-fail-open":
      return lockClientFailOpen(own as object);
    case "dynamodb-lease":
      if (pk || sk) {
        throw usageError(
          "A table of --format dynamodb-lease has the key `key`. Leave --pk and --sk out.",
        );
      }
      return dynamodbLease({
        longestLease: longestLease || undefined,
        maxClockSkew: maxClockSkew || undefined,
        ...fences,
      });
    default:
      return undefined;
  }
}

// Further formats have fences, or are not locks.
const WITHOUT_FENCES = ["aws-lock-client", "dynamolock", "dynamodb-lease"];

function fencesOf({ format = "native", fences }: FormatOptions): { fences?: "companion" } {
  if (!fences) return {};
  if (WITHOUT_FENCES.includes(format)) return { fences: fences as "companion" };
  throw usageError(
    `--fences is only for a --format without fences: ${WITHOUT_FENCES.join(", ")}. Leave --fences out for ${format}.`,
  );
}

// Records of the native format have the end of the lease; those of dynamodb-lease have their own expiry.
const WITHOUT_ENDS = ["aws-lock-client", "dynamolock", "lock-client-fail-open"];

function observationsOf({ format = "native", observations }: FormatOptions): object {
  if (!observations) return {};
  if (WITHOUT_ENDS.includes(format)) return { observations };
  throw usageError(
    `--observations is only for --format ${WITHOUT_ENDS.join(", ")}. Leave --observations out for ${format}.`,
  );
}
