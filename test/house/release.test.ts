import { execFileSync } from "node:child_process";
import { existsSync, readdirSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it } from "vitest";
import { parse } from "yaml";
import { WORKSPACE } from "../../scripts/lib/entries.mjs";
import { OTHERS, packageOf, TOOLCHAIN } from "../../scripts/lib/nodes.mjs";
import { sectionOf } from "../../scripts/release-notes.mjs";
import { ROOT, textOf } from "./source.js";

const FOLDER = ".github/workflows";
const workflows = readdirSync(join(ROOT, FOLDER)).map((file) => `${FOLDER}/${file}`);

interface Workflow {
  readonly permissions: object;
  readonly jobs: Readonly<Record<string, Job>>;
}

interface Job {
  readonly strategy?: { readonly matrix: { readonly part: readonly string[] } };
  readonly steps?: readonly { readonly run?: string; readonly uses?: string }[];
  readonly permissions?: Readonly<Record<string, string>>;
}

const stepsOf = (path: string) =>
  Object.values((parse(textOf(path)) as Workflow).jobs).flatMap(({ steps = [] }) => steps);

describe("the workflows", () => {
  it("run every part of .ci/run", () => {
    const parts = [...textOf(".ci/run").matchAll(/^part_(\w+)\(\)/gm)].map(([, part]) => part);
    const { jobs } = parse(textOf(`${FOLDER}/ci.yml`)) as Workflow;
    expect(parts.length).toBeGreaterThan(3);
    expect(jobs["part"]?.strategy?.matrix.part).toEqual(parts);
    expect(textOf(".ci/run")).toContain(`parts=(${parts.join(" ")})`);
  });

  it.each(workflows)("%s names each action by its commit, and its version", (path) => {
    const used = [...textOf(path).matchAll(/uses: (?!\.\/)(.+)$/gm)].map(([, action]) => action);
    for (const action of used)
      expect(action).toMatch(/^[\w-]+\/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+$/);
    expect(stepsOf(path).length).toBeGreaterThan(0);
  });

  it.each(workflows)("%s asks for its permissions, and runs only scripts that exist", (path) => {
    expect((parse(textOf(path)) as Workflow).permissions).toBeDefined();
    const scripts = stepsOf(path).flatMap(({ run = "" }) =>
      [...run.matchAll(/npm run (?:-\S+ )*([\w:-]+)/g)].map(([, script]) => script),
    );
    expect(scripts.filter((script) => !((script ?? "") in WORKSPACE.scripts))).toEqual([]);
  });
});

describe("a command that a text names", () => {
  const TEXTS = /\.(?:md|mjs|ts|yml)$|^\.ci\/run$/;
  const paths = execFileSync("git", ["ls-files"], { cwd: ROOT, encoding: "utf8" }).split("\n");
  const texts = paths.filter((path) => TEXTS.test(path)).map((path) => textOf(path));
  const named = (pattern: RegExp): Set<string> =>
    new Set(texts.flatMap((text) => [...text.matchAll(pattern)].map(([, name = ""]) => name)));

  it("is a script of package.json after `npm run`", () => {
    const scripts = [...named(/(?<![\w.])npm run (?:--silent )?([a-z][\w:-]*)/g)];
    expect(scripts.length).toBeGreaterThan(10);
    expect(scripts.filter((name) => !(name in WORKSPACE.scripts))).toEqual([]);
  });

  it("is a file after `node`", () => {
    const files = [...named(/\bnode ((?:scripts|bench|verification)\/[\w/.-]+\.mjs)/g)];
    expect(files.length).toBeGreaterThan(10);
    expect(files.filter((path) => !existsSync(join(ROOT, path)))).toEqual([]);
  });
});

describe("a job that can publish", () => {
  const jobs = workflows.flatMap((path) => Object.values((parse(textOf(path)) as Workflow).jobs));
  const publishing = jobs.filter(({ permissions }) => permissions?.["id-token"] === "write");

  it("runs no code of the checkout and of no development package", () => {
    expect(publishing).toHaveLength(2);
    for (const { steps = [] } of publishing) {
      const all = steps.map(({ run = "", uses = "" }) => `${run} ${uses}`).join("\n");
      expect(all).not.toMatch(/checkout|npm (?:ci|install|run|exec)|npx|node /);
    }
  });
});

describe("a Node.js for the build", () => {
  it("has a recorded hash in every version, on the platform of CI", () => {
    for (const version of [TOOLCHAIN, ...OTHERS]) {
      const { integrity } = packageOf(version, { platform: "linux", arch: "x64" });
      expect(integrity).toMatch(/^sha512-[A-Za-z0-9+/]{86}==$/);
    }
  });

  it("is not fetched without a recorded hash", () => {
    const fetched = (): unknown => packageOf(TOOLCHAIN, { platform: "sunos", arch: "x64" });
    expect(fetched).toThrow(/no hash of the npm package node-sunos-x64@/);
  });
});

it("dependencies of every folder are updated, but for those in chosen versions", () => {
  const { updates } = parse(textOf(".github/dependabot.yml")) as {
    readonly updates: readonly { readonly directories?: readonly string[] }[];
  };
  const tracked = execFileSync("git", ["ls-files", "*package.json"], {
    cwd: ROOT,
    encoding: "utf8",
  });
  const folders = tracked
    .trim()
    .split("\n")
    .map((path) => `/${path.replace(/\/?package\.json$/, "")}`)
    // The root's lock file has the packages.
    .filter((folder) => !/^\/(?:test\/interop|bench\/peers|packages\/[\w-]+$)/.test(folder));
  expect(updates[0]?.directories?.toSorted()).toEqual(folders.toSorted());
});

describe("the text of a release", () => {
  const changelog =
    "# Changelog\n\n## Unreleased\n\n- c\n\n## 1.2.0 (2027-02-01)\n\n### Safety\n\n- b\n\n## 1.2\n\n- a\n";

  it("is the changelog's section of exactly this version", () => {
    expect(sectionOf("1.2.0", changelog)).toBe("### Safety\n\n- b");
    expect(sectionOf("1.2", changelog)).toBe("- a");
    expect(sectionOf("1", changelog)).toBeUndefined();
  });
});

it("docs/safety.md names the runtimes that CI runs", () => {
  const majors = [TOOLCHAIN, ...OTHERS].map((version) => version.split(".")[0]);
  const others = [
    ...textOf("scripts/other-runtimes.mjs").matchAll(/name: "(\w+)",\s+version: "(\d+\.\d+)/g),
  ];
  const table = textOf("docs/safety.md").split("## Platforms")[1]?.split("\n## ")[0] ?? "";
  const [node = ""] = table.match(/^\| Node\.js .*on Linux \|/m) ?? [];
  expect(majors).toHaveLength(3);
  for (const major of majors) expect(node).toMatch(new RegExp(`\\b${major}\\b`));
  expect(others).toHaveLength(2);
  for (const [, name, version] of others) expect(table).toContain(`${name} ${version}`);
});
