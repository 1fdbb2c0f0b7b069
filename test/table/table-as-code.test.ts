import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import {
  CreateTableCommand,
  type CreateTableCommandInput,
  UpdateTimeToLiveCommand,
} from "@aws-sdk/client-dynamodb";
import { parse as parseHcl } from "@cdktf/hcl2json";
import { describe, expect, it } from "vitest";
import { parse as parseYaml } from "yaml";
import { createTable } from "../../src/table/index.js";
import { MemoryDynamoDB, memoryClient } from "../../src/testing/index.js";
import { runTypeScript } from "../examples/run.js";

/** The description of a table from any source, in a fixed order. */
interface Described {
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
  fileURLToPath(new URL("../../docs/table-as-code.md", import.meta.url)),
  "utf8",
);

function block(mark: string): string {
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

function fromTemplate(template: unknown): Described {
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
async function made(): Promise<Described> {
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

interface TerraformTable {
  readonly name: string;
  readonly billing_mode: string;
  readonly hash_key: string;
  readonly range_key: string;
  readonly attribute: readonly { readonly name: string; readonly type: string }[];
  readonly ttl: readonly [{ readonly attribute_name: string; readonly enabled: boolean }];
  readonly lifecycle: readonly object[];
}

describe("the table of createTable()", () => {
  it("equals the CloudFormation templates in YAML and JSON", async () => {
    const expected = await made();
    expect(expected.others).toEqual([]);
    expect(fromTemplate(parseYaml(block("yaml")))).toEqual(expected);
    expect(fromTemplate(JSON.parse(block("json")))).toEqual(expected);
  });

  it("equals the output of the document's CDK program", { timeout: 120_000 }, async () => {
    const print =
      "console.log(JSON.stringify(app.synth().getStackArtifact(stack.artifactId).template));";
    const { lines, errors, code } = await runTypeScript(block("ts") + print, {
      JSII_SILENCE_WARNING_UNTESTED_NODE_VERSION: "1",
      JSII_SILENCE_WARNING_DEPRECATED_NODE_VERSION: "1",
    });
    expect({ errors, code }).toEqual({ errors: "", code: 0 });
    expect(fromTemplate(JSON.parse(lines.join("")))).toEqual(await made());
  });

  it("equals the Terraform configuration", async () => {
    const parsed = (await parseHcl("locks.tf", block("hcl"))) as {
      readonly resource: { readonly aws_dynamodb_table: { readonly locks: [TerraformTable] } };
    };
    const [table] = parsed.resource.aws_dynamodb_table.locks;
    const { name, billing_mode, hash_key, range_key, attribute, ttl, lifecycle, ...others } = table;
    expect(lifecycle).toEqual([{ prevent_destroy: true }]);
    expect({
      name,
      billing: billing_mode,
      keys: { HASH: hash_key, RANGE: range_key },
      types: Object.fromEntries(attribute.map((one) => [one.name, one.type])),
      ttl: { AttributeName: ttl[0].attribute_name, Enabled: ttl[0].enabled },
      others: Object.keys(others),
    }).toEqual(await made());
  });
});
