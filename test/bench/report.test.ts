import { execFileSync } from "node:child_process";
import { readdirSync, readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";

const REPORT = new URL("../../bench/report.mjs", import.meta.url);
const RESULTS = new URL("../../bench/results/", import.meta.url);
const CASES = new URL("../../bench/cases/", import.meta.url);

const namesIn = (folder: URL, ending: string): string[] =>
  readdirSync(folder)
    .filter((file) => file.endsWith(ending))
    .map((file) => file.slice(0, -ending.length))
    .sort();

describe("the figures in the documents", () => {
  it("equal the committed runs", () => {
    const report = (): string =>
      execFileSync(process.execPath, [REPORT.pathname], {
        encoding: "utf8",
        stdio: ["ignore", "pipe", "pipe"],
      });
    expect(report).not.toThrow();
  }, 120_000);

  it("come from complete runs of every case", () => {
    expect(namesIn(RESULTS, ".json")).toEqual(namesIn(CASES, ".mjs"));
    for (const name of namesIn(RESULTS, ".json")) {
      const told = JSON.parse(readFileSync(new URL(`${name}.json`, RESULTS), "utf8"));
      expect(told).toMatchObject({ case: name, isQuick: false });
    }
  });
});
