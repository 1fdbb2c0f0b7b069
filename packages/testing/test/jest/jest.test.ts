import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { installTools } from "../../../../scripts/lib/tools.mjs";
import { ROOT, textOf } from "../../../../test/house/source.js";

const TOOLS = installTools("packages/testing/test/jest");

const [, section = ""] = textOf("docs/testing.md").split("## Jest\n");
const [SCRIPT = "", TRANSFORM = ""] = [...section.matchAll(/```json\n([\s\S]*?)```/g)].map(
  ([, block = ""]) => block,
);
const TABLE = new Map(
  [...section.matchAll(/^\| (.+) \| `(\{.*\})` \|$/gm)].map(([, tests = "", jest = ""]) => [
    tests,
    jest,
  ]),
);
const [, FLAG = ""] = /node (--\S+) /.exec(SCRIPT) ?? [];

const ES_MODULE = `
import { expect, jest, test } from "@jest/globals";
import { fakedEnvironment, MemoryTable } from "@holdfast/testing";
import { Holdfast, mutex } from "holdfast";

test("a lease is renewed under fake timers", async () => {
  jest.useFakeTimers();
  const client = new MemoryTable();
  const locks = new Holdfast({ client, table: "locks", environment: fakedEnvironment });
  const lease = await mutex(locks, "report").acquire();
  await jest.advanceTimersByTimeAsync(3_600_000);
  expect(lease.isHeld).toBe(true);
  expect(client.counts.writes).toBeGreaterThan(300);
  await locks.close();
});
`;
// In CommonJS the runner itself defines \`jest\`.
const COMMON_JS = ES_MODULE.replace(/^import .*@jest\/globals";$/m, "").replace(
  /^import (.*) from (".*");$/gm,
  "const $1 = require($2);",
);
const NEST = `
import "reflect-metadata";
import { expect, test } from "@jest/globals";
import { Injectable } from "@nestjs/common";
import { Test } from "@nestjs/testing";
import { MemoryTable } from "@holdfast/testing";
import { Holdfast, mutex } from "holdfast";
import { HoldfastModule, WithLock } from "holdfast/nestjs";

@Injectable()
class Orders {
  @WithLock("order/42", { wait: 0, onBusy: () => "busy" })
  async ship() {
    return "shipped";
  }
}

test("a method runs under the lock", async () => {
  const client = new MemoryTable();
  const locks = new Holdfast({ client, table: "locks" });
  const rival = new Holdfast({ client, table: "locks" });
  const module = await Test.createTestingModule({
    imports: [HoldfastModule.forRoot(locks)],
    providers: [Orders],
  }).compile();
  const held = await mutex(rival, "order/42").acquire();
  expect(await module.get(Orders).ship()).toBe("busy");
  await held.release();
  expect(await module.get(Orders).ship()).toBe("shipped");
  await Promise.all([module.close(), rival.close()]);
});
`;
const TSCONFIG = {
  compilerOptions: {
    ...{ module: "nodenext", target: "es2022", strict: true, skipLibCheck: true },
    ...{ isolatedModules: true, types: ["node"] },
    ...{ experimentalDecorators: true, emitDecoratorMetadata: true },
  },
};

interface Project {
  readonly jest: string;
  readonly file: string;
  readonly test: string;
  readonly type?: "module";
  readonly flags?: readonly string[];
}

/** Runs Jest in a new project, with the built packages installed. Returns its exit code and its words. */
function run({ jest, file, test, type, flags = [FLAG] }: Project) {
  mkdirSync(join(TOOLS, ".tmp"), { recursive: true });
  const folder = mkdtempSync(join(TOOLS, ".tmp", "project-"));
  const write = (path: string, text: string) => writeFileSync(join(folder, path), text);
  try {
    for (const [name, from] of [
      ["holdfast", "holdfast"],
      ["@holdfast/testing", "testing"],
    ] as const) {
      for (const part of ["dist", "package.json"]) {
        const to = join(folder, "node_modules", name, part);
        cpSync(join(ROOT, "packages", from, part), to, { recursive: true });
      }
    }
    write("package.json", JSON.stringify({ type, jest: JSON.parse(jest) }));
    write("tsconfig.json", JSON.stringify(TSCONFIG));
    write(file, test);
    const program = join(TOOLS, "node_modules", "jest", "bin", "jest.js");
    const { status, stderr } = spawnSync(process.execPath, [...flags, program], {
      cwd: folder,
      encoding: "utf8",
      env: { ...process.env, NODE_OPTIONS: "", JEST_WORKER_ID: undefined },
    });
    return { status, stderr };
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

const ROWS = {
  esm: "ES modules, JavaScript",
  typedEsm: "ES modules, TypeScript",
  cjs: "CommonJS, JavaScript",
  typedCjs: "CommonJS, TypeScript, Nest",
};

describe("a configuration of docs/testing.md", () => {
  it("stands for each kind of project", () => {
    expect(FLAG).toBe("--experimental-vm-modules");
    expect([...TABLE.keys()]).toEqual(Object.values(ROWS));
  });

  it.each<[string, string, Omit<Project, "jest">]>([
    ["ES modules", ROWS.esm, { file: "a.test.js", test: ES_MODULE, type: "module" }],
    ["typed ES modules", ROWS.typedEsm, { file: "a.test.ts", test: ES_MODULE, type: "module" }],
    ["CommonJS", ROWS.cjs, { file: "a.test.js", test: COMMON_JS }],
    ["typed CommonJS", ROWS.typedCjs, { file: "a.test.ts", test: ES_MODULE }],
    ["Nest", ROWS.typedCjs, { file: "a.test.ts", test: NEST }],
    ["CommonJS without the flag", "", { file: "a.test.js", test: COMMON_JS, flags: [] }],
    ["typed CommonJS without the flag", "", { file: "a.test.ts", test: ES_MODULE, flags: [] }],
  ])("runs a test in %s", { timeout: 60_000 }, (_, row, project) => {
    const { status, stderr } = run({ ...project, jest: TABLE.get(row) ?? TRANSFORM });
    expect(stderr).toContain("Tests:       1 passed, 1 total");
    expect(status).toBe(0);
  });
});
