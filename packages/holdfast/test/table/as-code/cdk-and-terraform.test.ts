import { createRequire } from "node:module";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { installTools } from "../../../../../scripts/lib/tools.mjs";
import { typeErrorsOf } from "../../../../../test/docs/type-check.js";
import { runTypeScript } from "../../../../../test/examples/run.js";
import { block, fromTemplate, made } from "./described.js";

const TOOLS = installTools("packages/holdfast/test/table/as-code");

interface HclParser {
  parse(file: string, text: string): Promise<unknown>;
}

// Resolved from the folder of the tools: the compiler of the whole checkout does not see what is installed there.
const hcl = createRequire(join(TOOLS, "package.json"))("@cdktf/hcl2json") as HclParser;

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
  it("is described by a CDK program without type errors", { timeout: 120_000 }, () => {
    const program = {
      path: "packages/holdfast/test/table/as-code/from-the-document.ts",
      text: block("ts"),
    };
    expect(typeErrorsOf([program])).toEqual([]);
  });

  it("equals the output of the document's CDK program", { timeout: 120_000 }, async () => {
    const print =
      "console.log(JSON.stringify(app.synth().getStackArtifact(stack.artifactId).template));";
    const { lines, errors, code } = await runTypeScript(
      block("ts") + print,
      {
        JSII_SILENCE_WARNING_UNTESTED_NODE_VERSION: "1",
        JSII_SILENCE_WARNING_DEPRECATED_NODE_VERSION: "1",
      },
      TOOLS,
    );
    expect({ errors, code }).toEqual({ errors: "", code: 0 });
    expect(fromTemplate(JSON.parse(lines.join("")))).toEqual(await made());
  });

  it("equals the Terraform configuration", async () => {
    const parsed = (await hcl.parse("locks.tf", block("hcl"))) as {
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
