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

/** A difference between DynamoDB Local and the table in memory that is there on purpose. */
export interface KnownDifference {
  readonly name: string;
  /** Why the table in memory does not do the same. */
  readonly reason: string;
  /** The tables hold different items from here on, so what follows cannot be compared. */
  readonly parts?: true;
  /** Whether this is what the two answers show. Both are in the form in which they are compared. */
  explains(request: Request, theirs: Answer, ours: Answer): boolean;
}

export const KNOWN_DIFFERENCES: readonly KnownDifference[] = [
  {
    name: "capacity of an unasked DeleteItem",
    reason:
      "DynamoDB Local answers DeleteItem with ConsumedCapacity although nobody asked; AWS documents NONE as the default.",
    explains: (request, theirs, ours) =>
      request.operation === "DeleteItem" &&
      [undefined, "NONE"].includes(request.body["ReturnConsumedCapacity"] as string | undefined) &&
      ours.body["ConsumedCapacity"] === undefined &&
      sameWithout(theirs, ours, "ConsumedCapacity"),
  },
  {
    name: "capacity of a transaction",
    reason:
      "AWS bills a transaction two units where a single request costs one, says whether they are read or written, and bills a replayed token as reads; DynamoDB Local counts each otherwise (awslabs/amazon-dynamodb-local-samples#31).",
    explains: (request, theirs, ours) =>
      request.operation.startsWith("Transact") &&
      theirs.body["ConsumedCapacity"] !== undefined &&
      ours.body["ConsumedCapacity"] !== undefined &&
      sameWithout(theirs, ours, "ConsumedCapacity"),
  },
  {
    name: "fragments in UPDATED_OLD and UPDATED_NEW",
    reason:
      "AWS answers with what lies at the updated paths, and for REMOVE with nothing new; DynamoDB Local answers with the whole attribute around it (verified against AWS in ExtendDB/extenddb#98).",
    explains: (request, theirs, ours) =>
      request.operation === "UpdateItem" &&
      String(request.body["ReturnValues"]).startsWith("UPDATED_") &&
      /[.[]|#dotted|REMOVE/i.test(String(request.body["UpdateExpression"])) &&
      sameWithout(theirs, ours, "Attributes") &&
      isFragment(ours.body["Attributes"] ?? {}, withNormalNumbers(theirs.body["Attributes"] ?? {})),
  },
  {
    name: "the other one of two overlapping paths",
    reason:
      "DynamoDB Local names as the second path the last one at that place in its tree, which may have nothing to do with the first; the table in memory names the one that overlaps.",
    explains: (_request, theirs, ours) =>
      /Two document paths (overlap|conflict)/.test(messageOf(ours)) &&
      alikeBut(/, path two: \[.*\]$/, theirs, ours),
  },
  {
    name: "bounds of BETWEEN in messages",
    reason:
      "DynamoDB Local prints bounds as Java prints them, binary ones by the address of their buffer, and numbers as they were written.",
    explains: (_request, theirs, ours) =>
      messageOf(ours).includes("The BETWEEN operator requires") &&
      alikeBut(/; lower bound operand: .*$/s, theirs, ours),
  },
  {
    name: "a value placeholder as a step of a path",
    reason:
      "DynamoDB Local's grammar takes `a.:b` for a path and fails later, with an internal error or some other fault.",
    explains: (request, theirs, ours) =>
      bothRefuse(theirs, ours) &&
      /\.\s*:\w/.test(expressionsOf(request)) &&
      /Syntax error; token: ":\w+"/.test(messageOf(ours)),
  },
  {
    name: "a full stop after a failed check",
    reason:
      "DynamoDB Local ends the reason of a failed ConditionCheck with a full stop, other than that of a failed Put, Update or Delete.",
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
      "AWS charges at least half a unit, or a whole one, for a query that finds nothing; DynamoDB Local counts none.",
    explains: (request, theirs, ours) =>
      request.operation === "Query" &&
      ours.body["ScannedCount"] === 0 &&
      (theirs.body["ConsumedCapacity"] as Json | undefined)?.["CapacityUnits"] === 0 &&
      sameWithout(theirs, ours, "ConsumedCapacity"),
  },
  {
    name: "redundant parentheses where others are not closed",
    reason:
      "Both are faults; which one DynamoDB Local tells of depends on how far its parser looks ahead.",
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
      "DynamoDB Local lists them as Java hashes them; the table in memory, as they were sent.",
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
      "Where several actions cannot be made, DynamoDB Local tells of the one that its hash order puts first; the table in memory, of the first as written, but of wrong paths before all else.",
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
      "DynamoDB Local refuses it in a Put, Update or Delete and takes it for absent in a ConditionCheck; the table in memory refuses it everywhere.",
    parts: true,
    explains: (request, _theirs, ours) =>
      request.operation === "TransactWriteItems" &&
      JSON.stringify(request.body).includes("ConditionCheck") &&
      messageOf(ours).startsWith("Key attributes must be scalars"),
  },
  {
    name: "which of two paths into keys, in a Query",
    reason:
      "DynamoDB Local tells of the projection's before the key condition's; the table in memory, the other way round.",
    explains: (request, theirs, ours) =>
      request.operation === "Query" &&
      bothRefuse(theirs, ours) &&
      request.body["ProjectionExpression"] !== undefined &&
      messageOf(ours).startsWith("Key attributes must be scalars") &&
      alikeBut(/Key: \w+$/, theirs, ours),
  },
  {
    name: "two actions on one item",
    reason:
      "AWS refuses such a transaction before it looks at the items; DynamoDB Local may find the failed condition first.",
    explains: (request, theirs, ours) =>
      request.operation === "TransactWriteItems" &&
      bothRefuse(theirs, ours) &&
      messageOf(ours).includes("cannot include multiple operations on one item"),
  },
  {
    name: "a reserved word, in a transaction",
    reason:
      "DynamoDB Local tells of it after the other faults of all actions; the table in memory, of the first action that has a fault.",
    explains: (request, theirs, ours) =>
      request.operation === "TransactWriteItems" &&
      bothRefuse(theirs, ours) &&
      (request.body["TransactItems"] as readonly object[]).length > 1 &&
      messageOf(ours).includes("Attribute name is a reserved keyword;"),
  },
  {
    name: "an update that cannot be made, in a transaction",
    reason:
      "AWS documents it as a cancelled transaction with the code ValidationError; DynamoDB Local answers as if it had been a single request, or gives one reason for several actions.",
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
      "DynamoDB Local says that the transaction was cancelled, and gives no reasons, which the SDK needs to read such an answer.",
    explains: (request, theirs, ours) =>
      request.operation === "TransactGetItems" &&
      typeOf(theirs) === "TransactionCanceledException" &&
      reasonsOf(theirs).length === 0 &&
      typeOf(ours) === "ValidationException" &&
      messageOf(theirs) === messageOf(ours),
  },
  {
    name: "numbers as they were written",
    reason:
      "DynamoDB Local stores some numbers of an UpdateItem as they were written, such as 9e125, and prints a difference of zero with decimals; AWS answers with their normal form.",
    explains: (_request, theirs, ours) =>
      theirs.status === ours.status && isDeepStrictEqual(withNormalNumbers(theirs.body), ours.body),
  },
  {
    name: "an empty hash key to start from",
    reason:
      "DynamoDB Local puts a sentence about unique keys before the fault, and it does not apply.",
    explains: (_request, theirs, ours) =>
      alikeBut(/^The query can return at most one row and cannot be restarted\. /, theirs, ours),
  },
];
