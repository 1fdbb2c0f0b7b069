import { describe, expect, it } from "vitest";
import { parse as parseYaml } from "yaml";
import { block, fromTemplate, made } from "./as-code/described.js";

describe("the table of createTable()", () => {
  it("equals the CloudFormation template", async () => {
    const expected = await made();
    expect(expected.others).toEqual([]);
    expect(fromTemplate(parseYaml(block("yaml")))).toEqual(expected);
  });
});
