import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import {
  CreateTableCommand,
  type CreateTableCommandInput,
  UpdateTimeToLiveCommand,
} from "@aws-sdk/client-dynamodb";
import { expect } from "vitest";
import { MemoryDynamoDB, memoryClient } from "../../../../testing/src/index.js";
import { createTable } from "../../../src/table/index.js";

/** The description of a table from any source, in a fixed order. */
export interface Described {
  readonly name: unknown;
  readonly billing: unknown;
  readonly keys: Record<string, unknown>;
  readonly types: Record<string, unknown>;
  readonly ttl: unknown;
  /** All further properties of the table. */
  readonly others: readonly string[];
}

type Template = {
  readonly Resources: Record<string, { readonly Properties: CreateTableCommandInput }>;
};

const document = readFileSync(
  fileURLToPath(new URL("../../../../../docs/table-as-code.md", import.meta.url)),
  "utf8",
);

/** The document's block of code with this mark. */
export function block(mark: string): string {
  const found = new RegExp(`^\`\`\`${mark}\\n([\\s\\S]*?)^\`\`\`$`, "m").exec(document)?.[1];
  if (found === undefined) throw new Error(`The document has no block of ${mark}.`);
  return found;
}

/** The table in the terms of CreateTable, which CloudFormation shares. */
function described(
  input: CreateTableCommandInput & { TimeToLiveSpecification?: object },
): Described {
  const { TableName, BillingMode, KeySchema, AttributeDefinitions, ...rest } = input;
  const { TimeToLiveSpecification, ...others } = rest;
  const keys = (KeySchema ?? []).map((key) => [key.KeyType, key.AttributeName]);
  const types = (AttributeDefinitions ?? []).map((one) => [one.AttributeName, one.AttributeType]);
  return {
    name: TableName,
    billing: BillingMode,
    keys: Object.fromEntries(keys),
    types: Object.fromEntries(types),
    ttl: TimeToLiveSpecification,
    others: Object.keys(others),
  };
}

/** The table of a CloudFormation template. */
export function fromTemplate(template: unknown): Described {
  const resources = Object.values((template as Template).Resources);
  const [table] = resources.filter((one) => one.Properties.KeySchema !== undefined);
  if (table === undefined) throw new Error("The template has no table.");
  expect(table).toMatchObject({
    Type: "AWS::DynamoDB::Table",
    DeletionPolicy: "Retain",
    UpdateReplacePolicy: "Retain",
  });
  return described(table.Properties);
}

/** The request of createTable(). */
export async function made(): Promise<Described> {
  const client = memoryClient(new MemoryDynamoDB({ nowMs: () => 0 }));
  const sent: object[] = [];
  const send = client.send.bind(client) as (command: never) => Promise<unknown>;
  const recording = {
    config: client.config,
    send: (command: never) => {
      if ((command as object) instanceof CreateTableCommand) {
        sent.push((command as CreateTableCommand).input);
      }
      if ((command as object) instanceof UpdateTimeToLiveCommand) {
        const { TimeToLiveSpecification } = (command as UpdateTimeToLiveCommand).input;
        sent.push({ TimeToLiveSpecification });
      }
      return send(command);
    },
  };
  await createTable({ client: recording, table: "locks" });
  expect(sent).toHaveLength(2);
  return described(Object.assign({}, ...sent) as CreateTableCommandInput);
}
