import { spawn } from "node:child_process";
import { once } from "node:events";
import { text } from "node:stream/consumers";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { holdMs, watchMs } from "../../packages/holdfast/src/core/record/decide.js";
import { measuredWith } from "../../verification/induction/clocks.mjs";
import { solve } from "../../verification/induction/prove.mjs";
import { textOf } from "../house/source.js";

const SCRIPT = fileURLToPath(new URL("../../scripts/induction.mjs", import.meta.url));

async function induction(...options: string[]): Promise<{ output: string; status: unknown }> {
  const running = spawn(process.execPath, [SCRIPT, ...options]);
  const [output, errors, [status]] = await Promise.all([
    text(running.stdout),
    text(running.stderr),
    once(running, "exit"),
  ]);
  return { output: output + errors, status };
}

const listed = (await induction("--list")).output;
const listOf = (what: string): string[] =>
  [...listed.matchAll(new RegExp(`^${what}: (.+)$`, "gm"))].map(([, one = ""]) => one);
const namesOf = (what: string): string[] => listOf(what).flatMap((line) => line.split(", "));

describe("the proof of the lease for any number of processes", { timeout: 300_000 }, () => {
  it("holds, each broken rule breaks its clause, and each run is possible", async () => {
    const { output, status } = await induction();
    expect(status, output).toBe(0);
    const good = new Set([...output.matchAll(/^ok {3}(.+)$/gm)].map(([, line]) => line));
    const kept = namesOf("steps").map((step) => `${step} keeps the invariant`);
    const runs = listOf("run").map((run) => `${run} is possible`);
    const expected = [...kept, ...listOf("broken"), ...runs];
    expect(expected.length).toBeGreaterThan(50);
    expect(expected.filter((line) => !good.has(line))).toEqual([]);
  });

  it.each([
    ["no margin of the holder", "but not counts: sat"],
    ["an answer after the deadline", "final: sat"],
    ["a request reaches the next holder", "obey keeps the invariant, but not asked: sat"],
  ])("fails if a rule is broken: %s", async (name, what) => {
    const { output, status } = await induction("--break", name);
    expect(output).toContain(what);
    expect(status).toBe(1);
  });

  it("prints the counter-example of a broken rule", async () => {
    const { output } = await induction("--only", "a takeover without the version");
    const parts = ["before  record", "step    grant g", "after   record", "broken  named, of"];
    expect(parts.filter((part) => !output.includes(part))).toEqual([]);
  });
});

describe("the lengths in the proof", () => {
  const leaseMs = 30_000;

  /** Whether a formula can be true, where a clock has counted this time. */
  async function isTrue(formula: string, countedMs: number): Promise<boolean> {
    const declared = ["until", "counted"].map((name) => `(declare-const ${name} Real)`);
    const counted = `(assert (= counted ${countedMs.toFixed(3)}))`;
    const step = "(define-fun bootStep () Real 10.0)";
    const output = await solve([step, ...declared, counted, `(assert ${formula})`, "(check-sat)"]);
    return output === "sat";
  }

  it.each([0, 0.01, 0.1])("are those of the code, with a drift of %d", async (drift) => {
    const measured = measuredWith(drift.toFixed(3));
    const length = leaseMs.toFixed(1);
    const held = measured.counts({ until: "until", from: "0.0", length, clocks: ["counted"] });
    const longestMs = holdMs(leaseMs, drift, 10);
    expect(await isTrue(held, longestMs)).toBe(true);
    expect(await isTrue(held, longestMs + 1)).toBe(false);
    const watched = measured.isWatched({ now: "until", from: "0.0", length, waited: "counted" });
    const shortestMs = watchMs(leaseMs, drift);
    expect(await isTrue(watched, shortestMs)).toBe(true);
    expect(await isTrue(watched, shortestMs - 1)).toBe(false);
  });
});

describe("spec/protocol.md", () => {
  it("states each clause of the inductive invariant, and no other", () => {
    const [, section = ""] = textOf("spec/protocol.md").split("## The inductive invariant\n");
    const [table = ""] = section.split("\n## ");
    const stated = [...table.matchAll(/^\| (\w+) \|/gm)].map(([, name]) => name);
    expect(stated.slice(1)).toEqual(namesOf("clauses"));
  });
});

describe("verification/README.md", () => {
  it("counts the steps and the rules left out", () => {
    const [, section = ""] = textOf("verification/README.md").split("## The induction\n");
    const counts = [
      `${namesOf("steps").length} steps`,
      `Each of ${listOf("broken").length} rules left out`,
    ];
    expect(counts.filter((count) => !section.replaceAll("\n", " ").includes(count))).toEqual([]);
  });
});
