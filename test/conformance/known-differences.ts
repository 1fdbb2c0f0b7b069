import { isDeepStrictEqual } from "node:util";
import {
  alikeBut,
  bothRefuse,
  expressionsOf,
  isFragment,
  type Json,
  messageOf,
  reasonsOf,
  sameWithout,
  typeOf,
  UPDATE_FAULTS,
  withNormalNumbers,
} from "./agreement/answers.js";
import type { Request } from "./agreement/requests.js";
import type { Answer } from "./agreement/wire.js";

/** A deliberate difference between DynamoDB Local and the table in memory. */
export interface KnownDifference {
  readonly name: string;
  /** Why the table in memory does not do the same. */
  readonly reason: string;
  /** The tables differ from here on, so later requests cannot be compared. */
  readonly parts?: true;
  /** Whether this difference explains the two answers, both in normal form. */
  explains(request: Request, theirs: Answer, ours: Answer): boolean;
}

export const KNOWN_DIFFERENCES: readonly KnownDifference[] = [
  {
    name: "capacity of an unasked DeleteItem",
    reason:
      "DynamoDB Local answers DeleteItem with ConsumedCapacity without a request for capacity; AWS documents NONE as the default.",
    explains: (request, theirs, ours) =>
      request.operation === "DeleteItem" &&
      [undefined, "NONE"].includes(request.body["ReturnConsumedCapacity"] as string | undefined) &&
      ours.body["ConsumedCapacity"] === undefined &&
      sameWithout(theirs, ours, "ConsumedCapacity"),
  },
  {
    name: "capacity of a transaction",
    reason:
      "AWS bills a transaction two units where a single request costs one, reports read and write units separately, and bills a replayed token as reads; DynamoDB Local counts differently (awslabs/amazon-dynamodb-local-samples#31).",
    explains: (request, theirs, ours) =>
      request.operation.startsWith("Transact") &&
      theirs.body["ConsumedCapacity"] !== undefined &&
      ours.body["ConsumedCapacity"] !== undefined &&
      sameWithout(theirs, ours, "ConsumedCapacity"),
  },
  {
    name: "fragments in UPDATED_OLD and UPDATED_NEW",
    reason:
      "AWS returns the values at the updated paths, and for REMOVE no new value; DynamoDB Local returns the whole attribute around the path (verified against AWS in ExtendDB/extenddb#98).",
    explains: (request, theirs, ours) =>
      request.operation === "UpdateItem" &&
      String(request.body["ReturnValues"]).startsWith("UPDATED_") &&
      /[.[]|#dotted|REMOVE/i.test(String(request.body["UpdateExpression"])) &&
      sameWithout(theirs, ours, "Attributes") &&
      isFragment(ours.body["Attributes"] ?? {}, withNormalNumbers(theirs.body["Attributes"] ?? {})),
  },
  {
    name: "the second of two overlapping paths",
    reason:
      "DynamoDB Local names the last path at this place in its tree, which may be unrelated to the first path; the table in memory names the overlapping path.",
    explains: (_request, theirs, ours) =>
      /Two document paths (overlap|conflict)/.test(messageOf(ours)) &&
      alikeBut(/, path two: \[.*\]$/, theirs, ours),
  },
  {
    name: "bounds of BETWEEN in messages",
    reason:
      "DynamoDB Local prints bounds in Java's format: binary values by the address of their buffer, and numbers as written.",
    explains: (_request, theirs, ours) =>
      messageOf(ours).includes("The BETWEEN operator requires") &&
      alikeBut(/; lower bound operand: .*$/s, theirs, ours),
  },
  {
    name: "a value placeholder as a step of a path",
    reason:
      "DynamoDB Local's grammar parses `a.:b` as a path and fails later, with an internal error or another fault.",
    explains: (request, theirs, ours) =>
      bothRefuse(theirs, ours) &&
      /\.\s*:\w/.test(expressionsOf(request)) &&
      /Syntax error; token: ":\w+"/.test(messageOf(ours)),
  },
  {
    name: "a full stop after a failed check",
    reason:
      "DynamoDB Local ends the reason of a failed ConditionCheck with a full stop, but not the reason of a failed Put, Update or Delete.",
    explains: (request, theirs, ours) =>
      request.operation === "TransactWriteItems" &&
      sameWithout(theirs, ours, "CancellationReasons") &&
      isDeepStrictEqual(
        JSON.parse(
          JSON.stringify(reasonsOf(theirs)).replaceAll("request failed.", "request failed"),
        ),
        reasonsOf(ours),
      ),
  },
  {
    name: "type names in messages",
    reason: "DynamoDB Local lists internal names of types, in no order.",
    explains: (_request, theirs, ours) =>
      messageOf(ours).includes("operator or function: attribute_type, operand type: {") &&
      alikeBut(/operand type: \{[^}]*\}$/, theirs, ours),
  },
  {
    name: "capacity of an empty page",
    reason:
      "AWS charges at least half a unit, or a whole unit, for a query without results; DynamoDB Local charges nothing.",
    explains: (request, theirs, ours) =>
      request.operation === "Query" &&
      ours.body["ScannedCount"] === 0 &&
      (theirs.body["ConsumedCapacity"] as Json | undefined)?.["CapacityUnits"] === 0 &&
      sameWithout(theirs, ours, "ConsumedCapacity"),
  },
  {
    name: "redundant parentheses before an unclosed parenthesis",
    reason:
      "Both are faults; the lookahead of DynamoDB Local's parser decides which fault is reported.",
    explains: (_request, theirs, ours) => {
      const told = `${messageOf(theirs)}\n${messageOf(ours)}`;
      return (
        bothRefuse(theirs, ours) &&
        told.includes("The expression has redundant parentheses;") &&
        told.includes('Syntax error; token: "<EOF>"')
      );
    },
  },
  {
    name: "order of unused placeholders",
    reason:
      "DynamoDB Local lists these in Java's hash order; the table in memory lists them in the request's order.",
    explains: (_request, theirs, ours) =>
      /unused in expressions: keys: \{/.test(messageOf(ours)) &&
      bothRefuse(theirs, ours) &&
      isDeepStrictEqual(
        messageOf(theirs)
          .split(/[{},: ]+/)
          .sort(),
        messageOf(ours)
          .split(/[{},: ]+/)
          .sort(),
      ),
  },
  {
    name: "which of two faults of an update",
    reason:
      "If several actions are impossible, DynamoDB Local reports the first in its hash order; the table in memory reports the first as written, but wrong paths before all other faults.",
    explains: (request, theirs, ours) =>
      request.operation === "UpdateItem" &&
      bothRefuse(theirs, ours) &&
      UPDATE_FAULTS.test(messageOf(theirs)) &&
      UPDATE_FAULTS.test(messageOf(ours)) &&
      /,|\b(SET|REMOVE|ADD|DELETE)\b.*\b(SET|REMOVE|ADD|DELETE)\b/i.test(expressionsOf(request)),
  },
  {
    name: "a path into a key, in a ConditionCheck",
    reason:
      "DynamoDB Local refuses this in a Put, Update or Delete, and treats the value as absent in a ConditionCheck; the table in memory always refuses.",
    parts: true,
    explains: (request, _theirs, ours) =>
      request.operation === "TransactWriteItems" &&
      JSON.stringify(request.body).includes("ConditionCheck") &&
      messageOf(ours).startsWith("Key attributes must be scalars"),
  },
  {
    name: "which of two paths into keys, in a Query",
    reason:
      "DynamoDB Local reports the projection's fault before the key condition's; the table in memory does the reverse.",
    explains: (request, theirs, ours) =>
      request.operation === "Query" &&
      bothRefuse(theirs, ours) &&
      request.body["ProjectionExpression"] !== undefined &&
      messageOf(ours).startsWith("Key attributes must be scalars") &&
      alikeBut(/Key: \w+$/, theirs, ours),
  },
  {
    name: "two actions on the same item",
    reason:
      "AWS refuses such a transaction before reading the items; DynamoDB Local may find the failed condition first.",
    explains: (request, theirs, ours) =>
      request.operation === "TransactWriteItems" &&
      bothRefuse(theirs, ours) &&
      messageOf(ours).includes("cannot include multiple operations on one item"),
  },
  {
    name: "a reserved word, in a transaction",
    reason:
      "DynamoDB Local reports this fault after the other faults of all actions; the table in memory reports the first action with a fault.",
    explains: (request, theirs, ours) =>
      request.operation === "TransactWriteItems" &&
      bothRefuse(theirs, ours) &&
      (request.body["TransactItems"] as readonly object[]).length > 1 &&
      messageOf(ours).includes("Attribute name is a reserved keyword;"),
  },
  {
    name: "an impossible update in a transaction",
    reason:
      "AWS documents a cancelled transaction with the code ValidationError; DynamoDB Local answers like a single request, or gives one reason for several actions.",
    explains: (request, theirs, ours) => {
      const single = messageOf(theirs);
      const told = reasonsOf(theirs).map((reason) => String(reason["Message"]));
      return (
        request.operation === "TransactWriteItems" &&
        bothRefuse(theirs, ours) &&
        [single, ...told].some((message) => UPDATE_FAULTS.test(message))
      );
    },
  },
  {
    name: "a wrong key in TransactGetItems",
    reason:
      "DynamoDB Local reports the cancellation without reasons, which the SDK needs to parse such an answer.",
    explains: (request, theirs, ours) =>
      request.operation === "TransactGetItems" &&
      typeOf(theirs) === "TransactionCanceledException" &&
      reasonsOf(theirs).length === 0 &&
      typeOf(ours) === "ValidationException" &&
      messageOf(theirs) === messageOf(ours),
  },
  {
    name: "numbers not in normal form",
    reason:
      "DynamoDB Local stores some numbers of an UpdateItem as written, such as 9e125, and prints a difference of zero with decimals; AWS answers with the normal form.",
    explains: (_request, theirs, ours) =>
      theirs.status === ours.status && isDeepStrictEqual(withNormalNumbers(theirs.body), ours.body),
  },
  {
    name: "an empty hash key to start from",
    reason: "DynamoDB Local puts an unrelated sentence about unique keys before the fault.",
    explains: (_request, theirs, ours) =>
      alikeBut(/^The query can return at most one row and cannot be restarted\. /, theirs, ours),
  },
];
