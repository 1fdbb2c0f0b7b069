import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { writeFigures } from "../../scripts/lib/figures.mjs";
import { ROOT, textOf } from "./source.js";

/** The source of the measuring commands. */
const FOLDERS = ["bench", "verification", "test/interop"];
const FILES = [
  "scripts/chaos.mjs",
  "verification/mutation/run.mjs",
  "scripts/model.mjs",
  "scripts/porcupine.mjs",
  "scripts/drill.mjs",
  "scripts/engines/run.mjs",
  "scripts/sim.mjs",
];

/** Files with other writes, and why they change no file of the repository without --write. */
const ALLOWED: Readonly<Record<string, string>> = {
  "verification/chaos/fake-clock.ts": "a clock's file, in the temporary folder of the run",
  "verification/chaos/main.ts":
    "the history of a failed run, in a temporary folder, and the file that --export names",
  "verification/sim/hashes.ts":
    "the hashes of histories, for `npm run sim -- --record-hashes verification/sim/hashes.json` alone, which measures nothing",
  "verification/variants/tested.ts": "the tests with a defect, in the cache",
  "verification/variants/vitest.config.ts": "the report of the tests, in the cache",
  "bench/lib/lock-servers.mjs": "the settings of a server, in the temporary folder of the run",
  "test/interop/record/main.ts": "recorded vectors, for a command that does nothing else",
};

const WRITING = /\b(?:(?:write|append)File(?:Sync)?|createWriteStream)\b/;

function sources(): string[] {
  const inFolders = FOLDERS.flatMap((folder) =>
    readdirSync(join(ROOT, folder), { recursive: true }).map(
      (path) => `${folder}/${String(path).replaceAll("\\", "/")}`,
    ),
  );
  return [...FILES, ...inFolders].filter(
    (path) => /\.(?:mjs|ts)$/.test(path) && !path.includes("node_modules/"),
  );
}

describe("a measuring command", () => {
  it("writes figures only through `writeFigures`, which requires --write", () => {
    const writing = sources().filter((path) => WRITING.test(textOf(path)));
    expect(writing.sort()).toEqual(Object.keys(ALLOWED).sort());
  });

  it("changes no file of the repository without --write", () => {
    const path = join(ROOT, "bench/results/never-written.json");
    expect(() => writeFigures(path, "{}", false)).toThrow("never-written.json");
    expect(() => readFileSync(path)).toThrow("ENOENT");
  });

  it("may write outside the repository", () => {
    const folder = mkdtempSync(join(tmpdir(), "figures-"));
    try {
      writeFigures(join(folder, "a.json"), "{}", false);
      expect(readFileSync(join(folder, "a.json"), "utf8")).toBe("{}");
    } finally {
      rmSync(folder, { recursive: true });
    }
  });
});
