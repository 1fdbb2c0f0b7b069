import { readdirSync, readFileSync } from "node:fs";
import { isBuiltin } from "node:module";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { expect, it } from "vitest";

const CLI = fileURLToPath(new URL("../../packages/cli/dist", import.meta.url));
const LOADS = /(?:\bfrom\s*|\bimport\s*\(?\s*|\b(?:__)?require\(\s*)"([^".][^"]*)"/g;

it("the built command loads the packages of Holdfast, the SDK and Node only", () => {
  const files = readdirSync(CLI, { recursive: true, encoding: "utf8" }).filter((file) =>
    file.endsWith(".js"),
  );
  const loaded = files.flatMap((file) =>
    [...readFileSync(join(CLI, file), "utf8").matchAll(LOADS)].map(([, name = ""]) => name),
  );
  const packages = new Set(
    loaded.filter((name) => !isBuiltin(name) && !/^@?holdfast\b/.test(name)),
  );
  expect([...packages].sort()).toEqual(["@aws-sdk/client-dynamodb", "@aws-sdk/client-s3"]);
});
