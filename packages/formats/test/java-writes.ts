import { readFileSync } from "node:fs";
import { compileWrite } from "../../holdfast/src/platform/dynamodb/expressions.js";
import type { Write } from "../../holdfast/src/platform/table.js";

/** Describes the recorded kinds of writes of the Java client, and this library's writes in the same words. */

interface Recorded {
  readonly operation: string;
  readonly request: {
    readonly ConditionExpression?: string;
    readonly UpdateExpression?: string;
    readonly ExpressionAttributeNames?: Readonly<Record<string, string>>;
  };
}

interface Vectors {
  readonly scenes: readonly {
    readonly steps: readonly { readonly requests: readonly Recorded[] }[];
  }[];
}

const OPERATIONS = { put: "PutItem", delete: "DeleteItem", update: "UpdateItem" } as const;

/** The optional parts of a caller's request. */
const ADDITIONAL = new Set(["team", "shards", "data"]);

/** Operation, condition, and for an update the attributes that it sets and removes, without user data. */
function kindOf(operation: string, condition: string, update: string): string {
  const bare = condition
    .replace(/exists \(/g, "exists(")
    .replace(/\s+/g, " ")
    .trim()
    .replace(/^\((.*)\)$/, "$1");
  if (operation !== "UpdateItem") return `${operation} ${bare}`;
  const [, set = "", remove = ""] = /^SET (.*?)(?:REMOVE (.*))?$/.exec(update.trim()) ?? [];
  const names = (list: string): string =>
    list
      .split(",")
      .map((part) => part.split("=")[0]?.trim() ?? "")
      .filter((name) => name !== "" && !ADDITIONAL.has(name))
      .sort()
      .join();
  return `${operation} ${bare} SET ${names(set)} REMOVE ${names(remove)}`;
}

/** The kinds of all recorded writes. */
export function javaWrites(): ReadonlySet<string> {
  const file = new URL("../../../spec/vectors/aws-lock-client.json", import.meta.url);
  const { scenes } = JSON.parse(readFileSync(file, "utf8")) as Vectors;
  const requests = scenes.flatMap(({ steps }) => steps.flatMap((step) => step.requests));
  const kinds = requests
    .filter(({ request }) => request.ConditionExpression !== undefined)
    .map(({ operation, request }) => {
      const named = (text = ""): string =>
        text
          .replace(/#\w+/g, (name) => request.ExpressionAttributeNames?.[name] ?? name)
          .replace(/:\w+/g, "?");
      return kindOf(operation, named(request.ConditionExpression), named(request.UpdateExpression));
    });
  return new Set(kinds);
}

/** The kind of one write through the port. */
export function kindOfWrite({ condition, change, as = "update" }: Write): string {
  const { text, update, names } = compileWrite(condition, change);
  const named = (part: string): string =>
    part.replace(/#\d+/g, (name) => names[name] ?? name).replace(/:\d+/g, "?");
  return kindOf(OPERATIONS[as], named(text), named(update ?? ""));
}
