import ts from "typescript";
import { afterEach, describe, expect, it, vi } from "vitest";
import { parse, placeOf, sourcePaths, walk } from "../../../../test/house/source.js";
import { ASSIGNMENT_CHANNEL } from "../../src/assign/index.js";
import { ELECTION_CHANNELS, LEASE_CHANNELS } from "../../src/events/index.js";
import { SCHEDULE_CHANNEL } from "../../src/schedule/index.js";
import { everythingHappens, heardWhile } from "./everything.js";

const counts = vi.hoisted(() => ({ published: 0, made: 0 }));

vi.mock("../../src/platform/diagnostics.js", async (original) => {
  const real = await original<typeof import("../../src/platform/diagnostics.js")>();
  return {
    ...real,
    publish(channel: string, message: () => object): void {
      counts.published += 1;
      real.publish(channel, () => {
        counts.made += 1;
        return message();
      });
    },
  };
});

afterEach(() => {
  counts.published = 0;
  counts.made = 0;
});

const CHANNELS = [
  ...Object.values(LEASE_CHANNELS),
  ...Object.values(ELECTION_CHANNELS),
  SCHEDULE_CHANNEL,
  ASSIGNMENT_CHANNEL,
];

describe("messages on diagnostics channels", () => {
  it("are not created without a subscriber", async () => {
    await everythingHappens();
    expect(counts.published).toBeGreaterThan(100);
    expect(counts.made).toBe(0);
  });

  it("are created once each with a subscriber, on every channel", async () => {
    const heard = await heardWhile(CHANNELS, everythingHappens);
    expect(counts.made).toBe(heard.length);
    expect(new Set(heard.map(({ channel }) => channel))).toEqual(new Set(CHANNELS));
  });

  it("are created inside the function passed to publish", () => {
    const calls: ts.CallExpression[] = [];
    for (const path of sourcePaths().filter(
      (one) => one !== "packages/holdfast/src/platform/diagnostics.ts",
    )) {
      walk(parse(path), (node) => {
        if (ts.isCallExpression(node) && node.expression.getText() === "publish") calls.push(node);
      });
    }
    expect(calls.length).toBeGreaterThanOrEqual(CHANNELS.length);
    expect(calls.filter((call) => !makesItsMessage(call)).map(placeOf)).toEqual([]);
  });
});

/** Whether the function creates its message as a literal, and not from an earlier object. */
function makesItsMessage(call: ts.CallExpression): boolean {
  const made = call.arguments[1];
  if (made === undefined) return false;
  const maker = ts.isIdentifier(made) ? initialiserOf(call.getSourceFile(), made.text) : made;
  if (maker === undefined || !ts.isArrowFunction(maker)) return false;
  let makes = false;
  walk(maker.body, (node) => {
    makes ||= ts.isObjectLiteralExpression(node);
  });
  return makes;
}

function initialiserOf(file: ts.SourceFile, name: string): ts.Expression | undefined {
  let found: ts.Expression | undefined;
  walk(file, (node) => {
    if (ts.isVariableDeclaration(node) && node.name.getText() === name) found = node.initializer;
  });
  return found;
}
