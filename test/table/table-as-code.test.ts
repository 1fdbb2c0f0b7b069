import { describe, expect, it } from "vitest";
import { parse as parseYaml } from "yaml";
import { block, fromTemplate, made } from "./as-code/described.js";

describe("the table of createTable()", () => {
  it("equals the CloudFormation templates in YAML and JSON", async () => {
    const expected = await made();
    expect(expected.others).toEqual([]);
    expect(fromTemplate(parseYaml(block("yaml")))).toEqual(expected);
    expect(fromTemplate(JSON.parse(block("json")))).toEqual(expected);
  });
});
