import { spawnSync } from "node:child_process";
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { MANIFEST, packages } from "../../scripts/lib/entries.mjs";
import { packAll } from "../../scripts/lib/projects.mjs";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));
const { version } = MANIFEST;

// The further packages of a user. The packages have no other dependencies: these are the peer dependency, and Node's types.
const NEIGHBOURS = ["@aws-sdk/client-dynamodb", "@types/node"];

const CONSUMER = `
import { DynamoDBClient, TransactWriteItemsCommand } from "@aws-sdk/client-dynamodb";
import { createTable } from "holdfast/table";
import { condition, Holdfast, isHoldfastError, type Lease, mutex } from "holdfast";
import { lean } from "holdfast/lean";
import { MemoryTable } from "@holdfast/testing";

const client = new DynamoDBClient({});
export const locks = new Holdfast({ client, table: "locks", lease: "30s" });
export const quick = new Holdfast({ client: lean(client, { connections: 8 }), table: "locks" });
export const inMemory = new Holdfast({ client: new MemoryTable(), table: "locks" });

export async function work(): Promise<bigint | undefined> {
  await createTable({ client, table: "locks" });
  try {
    return await mutex(locks, "a").run({ wait: "5s" }, async (lease: Lease) => {
      await client.send(new TransactWriteItemsCommand({ TransactItems: [condition(lease)] }));
      return lease.fence;
    });
  } catch (error) {
    if (isHoldfastError(error, "not-acquired")) return undefined;
    throw error;
  }
}

// @ts-expect-error A lease's length is a number or a string.
mutex(locks, "a", { lease: true });
// @ts-expect-error Tables are made by a client of the SDK's.
createTable({ client: lean(client), table: "locks" });
`;

const REQUIRING = `
import holdfast = require("holdfast");
export const code: holdfast.ErrorCode = "lost";
export const is: boolean = holdfast.isHoldfastError(undefined, code);
`;

let project: string;

/** Runs a program in the project. Returns its output after a successful end. */
function outputOf(program: string, ...args: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync(program, args, { cwd: project, encoding: "utf8" });
  expect(status, `${stdout}${stderr}`).toBe(0);
  return stdout.trim();
}

function link(name: string): void {
  const to = join(project, "node_modules", name);
  mkdirSync(dirname(to), { recursive: true });
  symlinkSync(join(ROOT, "node_modules", name), to, "dir");
}

/** The errors in these files and in the package's declarations. To check those of other packages takes most of the time. */
function typeErrors(compilerOptions: object, files: readonly string[]): string[] {
  const { options, fileNames } = ts.parseJsonConfigFileContent(
    { compilerOptions, files },
    ts.sys,
    project,
  );
  const program = ts.createProgram(fileNames, options);
  const own = program
    .getSourceFiles()
    .filter(
      ({ fileName }) =>
        fileNames.includes(fileName) || /\/@?holdfast\/(?:\w+\/)?dist\//.test(fileName),
    );
  const declarations = own.filter(({ isDeclarationFile }) => isDeclarationFile);
  expect(declarations.length).toBeGreaterThan(3);
  return [
    ...program.getOptionsDiagnostics(),
    ...program.getGlobalDiagnostics(),
    ...own.flatMap((file) => [
      ...program.getSyntacticDiagnostics(file),
      ...program.getSemanticDiagnostics(file),
    ]),
  ].map(({ file, messageText }) => {
    return `${file?.fileName}: ${ts.flattenDiagnosticMessageText(messageText, "\n")}`;
  });
}

/** Unpacks the tarballs in npm's place and links the remaining packages, so that the test needs no registry. */
beforeAll(() => {
  project = mkdtempSync(join(tmpdir(), "holdfast-package-"));
  const modules = join(project, "node_modules");
  mkdirSync(join(modules, ".bin"), { recursive: true });
  writeFileSync(join(project, "package.json"), '{ "private": true, "type": "module" }\n');
  for (const [index, tarball] of packAll(project).entries()) {
    const folder = join(modules, packages[index]?.manifest.name ?? "");
    mkdirSync(folder, { recursive: true });
    outputOf("tar", "-xzf", tarball, "--strip-components=1", "-C", folder);
  }
  for (const name of NEIGHBOURS) link(name);
  // As npm does during an install.
  const command = join(modules, "@holdfast/cli/dist/main.js");
  chmodSync(command, 0o755);
  symlinkSync(command, join(modules, ".bin", "holdfast"));
});

afterAll(() => rmSync(project, { recursive: true, force: true }));

describe("the packed packages, installed", () => {
  it("can be imported and required as the same module", () => {
    writeFileSync(
      join(project, "both.mjs"),
      `import { createRequire } from "node:module";
       import * as imported from "holdfast";
       import * as testing from "@holdfast/testing";
       const required = createRequire(import.meta.url)("holdfast");
       console.log(required.Holdfast === imported.Holdfast, typeof testing.MemoryTable);`,
    );
    expect(outputOf("node", "both.mjs")).toBe("true function");
    const required = outputOf("node", "-p", "typeof require('holdfast').Holdfast");
    expect(required).toBe("function");
  });

  it("has documents whose links lead to its own files, or to the web", () => {
    const root = join(project, "node_modules/holdfast");
    const paths = readdirSync(root, { recursive: true, encoding: "utf8" });
    const documents = paths.filter((path) => path.endsWith(".md"));
    expect(documents).toContain(join("docs", "start.md"));
    const dead = documents.flatMap((path) => {
      const prose = readFileSync(join(root, path), "utf8").replace(/^```[\s\S]*?^```/gm, "");
      return [...prose.matchAll(/\]\(([^)\s]+)\)/g)]
        .map(([, target = ""]) => target)
        .filter((target) => !/^https?:|^#/.test(target))
        .filter((target) => !existsSync(join(root, dirname(path), target.replace(/#.*/, ""))))
        .map((target) => `${path}: ${target}`);
    });
    expect(dead).toEqual([]);
  });

  it("has no way past its exports", () => {
    const script =
      "import('holdfast/dist/shared/platform.js').catch((error) => console.log(error.code))";
    expect(outputOf("node", "-e", script)).toBe("ERR_PACKAGE_PATH_NOT_EXPORTED");
  });

  it("works without the packages of a subpath, whose import names the missing package", () => {
    const script = "import('holdfast/lean').catch((error) => console.log(error.message))";
    expect(outputOf("node", "-e", script)).toMatch(/Cannot find package '(?:aws4|undici)'/);
  });

  it("brings the command", () => {
    expect(outputOf(join("node_modules", ".bin", "holdfast"), "--version")).toBe(version);
  });

  it("prints help and the version without loading the SDK", () => {
    const sdk = join(project, "node_modules", "@aws-sdk");
    const hidden = join(project, "hidden");
    renameSync(sdk, hidden);
    try {
      const command = join("node_modules", ".bin", "holdfast");
      expect(outputOf(command, "--version")).toBe(version);
      expect(outputOf(command, "lock", "--help")).toContain("--wait");
      const { status, stderr } = spawnSync(command, ["ls"], { cwd: project, encoding: "utf8" });
      expect(status).not.toBe(0);
      expect(stderr).toContain("npm install @aws-sdk/client-dynamodb");
    } finally {
      renameSync(hidden, sdk);
    }
  });

  it.each([
    ["nodenext", "nodenext", ["consumer.ts", "requiring.cts"]],
    ["esnext", "bundler", ["consumer.ts"]],
    ["commonjs", "node10", ["consumer.ts"]],
  ])(
    "compiles for a user with module %s and resolution %s",
    (module, resolution, files) => {
      writeFileSync(join(project, "consumer.ts"), CONSUMER);
      writeFileSync(join(project, "requiring.cts"), REQUIRING);
      const compilerOptions = {
        module,
        moduleResolution: resolution,
        target: "es2022",
        strict: true,
        exactOptionalPropertyTypes: true,
        // Checks the declarations too, as a user's compiler does by default.
        skipLibCheck: false,
        types: ["node"],
        noEmit: true,
      };
      expect(typeErrors(compilerOptions, files)).toEqual([]);
    },
    120_000,
  );
});
