import { spawn } from "node:child_process";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { transform } from "esbuild";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** The printed lines, and the exit of a program. */
export interface Ran {
  readonly lines: readonly string[];
  readonly errors: string;
  readonly code: number | null;
}

/**
 * Runs TypeScript in a separate Node.js process, as `npx esbuild ... | node --input-type=module -` does in the
 * repository: the program imports the package by name, through the package's own exports. Node.js looks for other
 * packages from `cwd` upwards.
 */
export async function runTypeScript(
  source: string,
  environment: Readonly<Record<string, string>>,
  cwd = ROOT,
): Promise<Ran> {
  const program = await compiled(source);
  return runProgram(["--input-type=module", "-"], program, environment, cwd);
}

/** Runs TypeScript as {@link runTypeScript} does, from a file: a worker cannot start in a program from standard input. */
export async function runFile(
  source: string,
  environment: Readonly<Record<string, string>>,
): Promise<Ran> {
  const folder = join(ROOT, ".tmp");
  mkdirSync(folder, { recursive: true });
  const made = mkdtempSync(join(folder, "example-"));
  const file = join(made, "example.mjs");
  try {
    writeFileSync(file, await compiled(source));
    return await runProgram([file], "", environment, ROOT);
  } finally {
    rmSync(made, { recursive: true, force: true });
  }
}

async function compiled(source: string): Promise<string> {
  const { code } = await transform(source, {
    ...{ loader: "ts", target: "node22" },
    // Nest's decorators.
    tsconfigRaw: { compilerOptions: { experimentalDecorators: true } },
  });
  return code;
}

async function runProgram(
  args: readonly string[],
  input: string,
  environment: Readonly<Record<string, string>>,
  cwd: string,
): Promise<Ran> {
  const child = spawn(process.execPath, args, {
    cwd,
    env: { ...process.env, NODE_OPTIONS: "", ...environment },
    stdio: ["pipe", "pipe", "pipe"],
  });
  let [output, errors] = ["", ""];
  child.stdout.setEncoding("utf8").on("data", (chunk: string) => {
    output += chunk;
  });
  child.stderr.setEncoding("utf8").on("data", (chunk: string) => {
    errors += chunk;
  });
  child.stdin.end(input);
  const code = await new Promise<number | null>((resolve, reject) => {
    child.once("error", reject);
    child.once("close", resolve);
  });
  return { lines: output.split("\n").slice(0, -1), errors, code };
}

/** The environment that points the SDK's clients to a server on this machine. */
export function environmentFor(endpoint: string, table: string): Record<string, string> {
  return {
    AWS_ENDPOINT_URL_DYNAMODB: endpoint,
    AWS_REGION: "local",
    AWS_ACCESS_KEY_ID: "local",
    AWS_SECRET_ACCESS_KEY: "local",
    AWS_SDK_JS_NODE_VERSION_SUPPORT_WARNING_DISABLED: "true",
    HOLDFAST_TABLE: table,
  };
}
