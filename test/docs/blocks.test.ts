import { existsSync, readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { environmentFor, runTypeScript } from "../examples/run.js";
import { memoryServer } from "../support/memory-server.js";
import { freshTable } from "../support/sdk.js";
import { typeErrorsOf } from "./type-check.js";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** The declarations that a block may use without an import. */
const PRELUDE = `
import type { DynamoDBClient, TransactWriteItemsCommandInput } from "@aws-sdk/client-dynamodb";
import type { Holdfast as Locks, Lease } from "holdfast";
declare global {
  const Holdfast: typeof import("holdfast").Holdfast;
  const TransactWriteItemsCommand: typeof import("@aws-sdk/client-dynamodb").TransactWriteItemsCommand;
  const client: DynamoDBClient;
  const locks: Locks;
  const lease: Lease;
  const signal: AbortSignal;
  const write: NonNullable<TransactWriteItemsCommandInput["TransactItems"]>[number];
  function work(signal: AbortSignal): Promise<void>;
  function billCustomer(id: number, signal: AbortSignal): Promise<void>;
}
`;

interface Block {
  readonly title: string;
  /** The block's path as a file beside its document, so that relative imports resolve. */
  readonly path: string;
  readonly text: string;
  readonly isRunnable: boolean;
}

function documents(): string[] {
  const inDocs = readdirSync(join(ROOT, "docs"), { recursive: true })
    .map((path) => `docs/${String(path).replaceAll("\\", "/")}`)
    .filter((path) => path.endsWith(".md"));
  return ["README.md", ...inDocs].filter((path) => existsSync(join(ROOT, path))).sort();
}

function blocksOf(document: string): Block[] {
  const text = readFileSync(join(ROOT, document), "utf8");
  return [...text.matchAll(/^```ts( runnable)?\n([\s\S]*?)^```$/gm)].map((match) => {
    const line = text.slice(0, match.index).split("\n").length;
    return {
      title: `${document}:${line}`,
      path: document.replace(/\.md$/, `.line-${line}.ts`),
      text: match[2] ?? "",
      isRunnable: match[1] !== undefined,
    };
  });
}

const blocks = documents().flatMap(blocksOf);
const runnable = blocks.filter(({ isRunnable }) => isRunnable);

describe("TypeScript blocks in the documents", () => {
  const server = memoryServer();

  it("are marked `ts`, so that the tests find all of them", () => {
    const others = documents().flatMap((document) => {
      const text = readFileSync(join(ROOT, document), "utf8");
      const marks = [...text.matchAll(/^```(\S.*)$/gm)].map((match) => match[1] ?? "");
      return marks
        .filter((mark) =>
          /^(typescript|tsx|js|javascript|mjs)\b|^ts .*(?<!^ts runnable)$/.test(mark),
        )
        .map((mark) => `${document}: ${mark}`);
    });
    expect(others).toEqual([]);
    expect(runnable.length).toBeGreaterThan(5);
  });

  it("have no type errors", { timeout: 120_000 }, () => {
    const sources = blocks
      // A long test checks this one, after the installation of the CDK: packages/holdfast/test/table/as-code.
      .filter(({ path }) => !path.startsWith("docs/table-as-code."))
      .map(({ path, text }) => ({ path, text: `${text}\nexport {};\n` }));
    const prelude = { path: "docs/prelude.ts", text: PRELUDE };
    expect(typeErrorsOf([prelude, ...sources])).toEqual([]);
  });

  it("catch the rejection of close() in listeners of signals", () => {
    const listeners = blocks.flatMap(({ text }) =>
      [...text.matchAll(/^process\.\w+\("SIG[\s\S]*?^\}\);/gm)].map(([listener]) => listener),
    );
    expect(listeners.length).toBeGreaterThan(1);
    expect(listeners.filter((listener) => /locks\.close\(\)(?!\.catch)/.test(listener))).toEqual(
      [],
    );
  });

  const titled = runnable.map((block) => [block.title, block.text] as const);
  it.concurrent.each(titled)("of %s run, and print the documented lines", async (_, text) => {
    const environment = environmentFor(server.endpoint, freshTable());
    const { lines, errors, code } = await runTypeScript(text, environment);
    expect({ errors, code }).toEqual({ errors: "", code: 0 });
    const said = [...text.matchAll(/\/\/ -> (.*)$/gm)].map((match) => match[1]);
    expect(lines).toEqual(said);
  });
});

it("each statement of SQL has all parameters from $1 on, as PostgreSQL requires", () => {
  const statements = documents().flatMap((document) => {
    const text = readFileSync(join(ROOT, document), "utf8");
    const inBlocks = [...text.matchAll(/^```sql\n([\s\S]*?)^```$/gm)];
    return inBlocks.flatMap(([, sql = ""]) => sql.split(";").filter((one) => one.trim() !== ""));
  });
  expect(statements.length).toBeGreaterThan(2);
  for (const statement of statements) {
    const used = new Set(statement.match(/\$\d+/g));
    expect([...used].sort(), statement).toEqual([...used].map((_, at) => `$${at + 1}`));
  }
});
