import { isDeepStrictEqual } from "node:util";
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

type Json = { readonly [name: string]: unknown };

function messageOf(answer: Answer): string {
  return String(answer.body["Message"] ?? "");
}

function typeOf(answer: Answer): string {
  return String(answer.body["__type"] ?? "").replace(/^.*#/, "");
}

function bothRefuse(theirs: Answer, ours: Answer): boolean {
  return theirs.status === 400 && ours.status === 400;
}

/** The messages with whatever `pattern` finds taken out of both are the same. */
function alikeBut(pattern: RegExp, theirs: Answer, ours: Answer): boolean {
  const [left, right] = [messageOf(theirs), messageOf(ours)];
  return (
    bothRefuse(theirs, ours) &&
    pattern.test(left) &&
    left.replace(pattern, "") === right.replace(pattern, "")
  );
}

function without(answer: Answer, ...members: readonly string[]): Json {
  return Object.fromEntries(
    Object.entries(answer.body).filter(([name]) => !members.includes(name)),
  );
}

function sameWithout(theirs: Answer, ours: Answer, ...members: readonly string[]): boolean {
  return (
    theirs.status === ours.status &&
    isDeepStrictEqual(without(theirs, ...members), without(ours, ...members))
  );
}

/** All expressions of a request, those within transactions included. */
function expressionsOf(request: Request): string {
  const found: string[] = [];
  JSON.stringify(request.body, (name, value: unknown) => {
    if (name.endsWith("Expression") && typeof value === "string") found.push(value);
    return value;
  });
  return found.join("\n");
}

function reasonsOf(answer: Answer): readonly Json[] {
  const reasons = answer.body["CancellationReasons"];
  return Array.isArray(reasons) ? reasons : [];
}

const UPDATE_FAULTS =
  /^(The document path provided in the update expression is invalid for update|The provided expression refers to an attribute that does not exist in the item|An operand in the update expression has an incorrect data type|Number (over|under)flow.*|DynamoDB only supports precision up to 38 digits|.*Cannot update attribute \w+\. This attribute is part of the key)$/;

/** Whether `part` is `whole` with members of maps, and elements of lists, left out. */
function isFragment(part: unknown, whole: unknown): boolean {
  if (isDeepStrictEqual(part, whole)) return true;
  if (Array.isArray(part) && Array.isArray(whole)) {
    let from = 0;
    return part.every((element) => {
      const at = whole.findIndex((other, index) => index >= from && isFragment(element, other));
      from = at + 1;
      return at >= 0;
    });
  }
  if (typeof part !== "object" || typeof whole !== "object" || !part || !whole) return false;
  if (Array.isArray(part) || Array.isArray(whole)) return false;
  return Object.entries(part).every(([name, member]) => isFragment(member, (whole as Json)[name]));
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
      isFragment(ours.body["Attributes"] ?? {}, theirs.body["Attributes"] ?? {}),
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
      "DynamoDB Local's grammar takes `a.:b` for a path and fails later, with an internal error or a misplaced token.",
    explains: (request, theirs, ours) =>
      bothRefuse(theirs, ours) &&
      /\.\s*:\w/.test(expressionsOf(request)) &&
      /Internal server error|Syntax error/.test(messageOf(theirs)) &&
      /Syntax error/.test(messageOf(ours)),
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
    name: "a start key at the last bound",
    reason:
      "DynamoDB Local refuses to go on after a page whose last key equals the bound of `<=`, `>=` or BETWEEN, though it gave that key itself.",
    explains: (request, theirs, ours) =>
      request.operation === "Query" &&
      messageOf(theirs) === "The provided starting key does not match the range key predicate" &&
      /[<>]=|BETWEEN/.test(expressionsOf(request)) &&
      ours.status === 200 &&
      ours.body["Count"] === 0,
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
    name: "zero with decimals",
    reason:
      "DynamoDB Local prints a difference that is zero with as many decimals as the numbers had; 0 is the number's normal form.",
    parts: true,
    explains: (_request, theirs, ours) =>
      theirs.status === 200 &&
      isDeepStrictEqual(
        JSON.parse(JSON.stringify(theirs.body).replace(/"0\.0+"/g, '"0"')),
        ours.body,
      ),
  },
];
