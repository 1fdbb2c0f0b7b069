import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { promisify } from "node:util";
import { expect, it } from "vitest";
import { tooOldNode } from "../src/node-version.js";
import { CLI_FILE } from "./support.js";

const MANIFEST = new URL("../package.json", import.meta.url);
const { engines } = JSON.parse(readFileSync(MANIFEST, "utf8")) as { engines: { node: string } };

it.each(["22.12.0", "22.13.1", "24.0.0", process.versions.node])("runs on Node.js %s", (node) => {
  expect(tooOldNode({ node })).toBeUndefined();
});

it.each(["22.11.0", "20.20.2", "18.19.0", "8.0.0"])(
  "refuses Node.js %s in one sentence",
  (node) => {
    const oldest = engines.node.replace(">=", "");
    expect(tooOldNode({ node })).toBe(
      `This is Node.js ${node}; holdfast needs Node.js ${oldest} or later.`,
    );
  },
);

it.each(["bun", "deno"])("asks nothing of %s", (host) => {
  expect(tooOldNode({ node: "18.0.0", [host]: "1.0.0" })).toBeUndefined();
});

it("ends the command before it does anything", async () => {
  const older = `Object.defineProperty(process, "versions", { value: { ...process.versions, node: "20.1.0" } })`;
  const words = ["--import", `data:text/javascript,${encodeURIComponent(older)}`, CLI_FILE, "cost"];
  await expect(promisify(execFile)(process.execPath, words)).rejects.toMatchObject({
    code: 78,
    stdout: "",
    stderr: "holdfast: This is Node.js 20.1.0; holdfast needs Node.js 22.12 or later.\n",
  });
});
