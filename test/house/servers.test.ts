import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, it } from "vitest";
import { IN_MEMORY_FOLDERS } from "../../vitest.config.js";
import { ROOT } from "./source.js";

/** What starts a server or a process. */
const STARTS = /from "(?:[./\w-]*\/(?:dynamodb-local|s3rver|cli\/support)\.js|node:child_process)"/;

it("tests in memory start no server and no process", () => {
  const files = IN_MEMORY_FOLDERS.flatMap((folder) => {
    const names = readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" });
    return names.filter((name) => name.endsWith(".ts")).map((name) => join(folder, name));
  });
  expect(files.length).toBeGreaterThan(100);
  expect(files.filter((file) => STARTS.test(readFileSync(join(ROOT, file), "utf8")))).toEqual([]);
});
