import { describe, expect, it } from "vitest";
import {
  compileCondition,
  compileProjection,
  compileWrite,
} from "../../../src/platform/dynamodb/expressions.js";
import type { Condition } from "../../../src/platform/table.js";

const equals = (attribute: string, value: string): Condition => ({
  kind: "equals",
  attribute,
  value: { S: value },
});

describe("the compiler of expressions", () => {
  it("writes every kind of condition", () => {
    const condition: Condition = {
      kind: "any",
      of: [
        { kind: "absent", attribute: "a" },
        {
          kind: "all",
          of: [
            { kind: "present", attribute: "b" },
            equals("c", "x"),
            { kind: "below", attribute: "d", value: { N: "7" } },
            { kind: "at-least", attribute: "e", value: { N: "8" } },
            { kind: "same", attribute: "f", as: "g" },
          ],
        },
      ],
    };
    expect(compileCondition(condition)).toEqual({
      text:
        "(attribute_not_exists(#0) OR (attribute_exists(#1) AND #2 = :0 AND #3 < :1 AND #4 >= :2 " +
        "AND #5 = #6))",
      names: { "#0": "a", "#1": "b", "#2": "c", "#3": "d", "#4": "e", "#5": "f", "#6": "g" },
      values: { ":0": { S: "x" }, ":1": { N: "7" }, ":2": { N: "8" } },
    });
  });

  it("compiles a comparison with a member of a map", () => {
    const value = { S: "x" };
    const condition: Condition = {
      kind: "any",
      of: [
        { kind: "differs", attribute: "a", member: "b", value },
        { kind: "equals", attribute: "a", member: "c", value },
      ],
    };
    expect(compileCondition(condition)).toEqual({
      text: "(#0.#1 <> :0 OR #0.#2 = :0)",
      names: { "#0": "a", "#1": "b", "#2": "c" },
      values: { ":0": { S: "x" } },
    });
  });

  it("keeps what belongs together together: AND would bind closer than OR", () => {
    const or: Condition = { kind: "any", of: [equals("a", "1"), equals("b", "2")] };
    const { text } = compileCondition({ kind: "all", of: [equals("c", "3"), or] });
    expect(text).toBe("(#0 = :0 AND (#1 = :1 OR #2 = :2))");
  });

  it("adds no brackets around a single part, which DynamoDB refuses as redundant", () => {
    const one: Condition = { kind: "any", of: [{ kind: "all", of: [equals("a", "1")] }] };
    expect(compileCondition(one).text).toBe("#0 = :0");
  });

  it("writes every kind of change, and an equal name or value once", () => {
    const compiled = compileWrite(equals("holder", "me"), {
      set: {
        holder: { S: "me" },
        version: { incrementFrom: "0" },
        fence: { incrementFrom: "1" },
        data: { orElse: { M: {} } },
      },
      remove: ["session", "holder"],
    });
    expect(compiled).toEqual({
      text: "#0 = :0",
      update:
        "SET #0 = :0, #1 = if_not_exists(#1, :1) + :2, #2 = if_not_exists(#2, :2) + :2, " +
        "#3 = if_not_exists(#3, :3) REMOVE #4, #0",
      names: { "#0": "holder", "#1": "version", "#2": "fence", "#3": "data", "#4": "session" },
      values: { ":0": { S: "me" }, ":1": { N: "0" }, ":2": { N: "1" }, ":3": { M: {} } },
    });
  });

  it("never confuses a number with the same text", () => {
    const both: Condition = {
      kind: "all",
      of: [equals("a", "1"), { kind: "equals", attribute: "b", value: { N: "1" } }],
    };
    expect(compileCondition(both).values).toEqual({ ":0": { S: "1" }, ":1": { N: "1" } });
  });

  it("leaves out empty parts of a change", () => {
    const condition = equals("a", "1");
    expect(compileWrite(condition, { set: {}, remove: ["b"] }).update).toBe("REMOVE #1");
    expect(compileWrite(condition, { set: { b: { S: "1" } }, remove: [] }).update).toBe(
      "SET #1 = :0",
    );
  });

  it("lists attributes to read as placeholders only", () => {
    expect(compileProjection(["name", "v", "name"])).toEqual({
      text: "#0, #1, #0",
      names: { "#0": "name", "#1": "v" },
    });
  });
});
