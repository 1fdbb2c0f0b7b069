import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import type { Command } from "commander";
import { describe, expect, it } from "vitest";
import { POLICY_FEATURES } from "../../holdfast/src/table/policy.js";
import { programOf } from "../src/program.js";
import { CLI_FILE } from "./support.js";

/** The help of each command, and docs/cli.md. */

const DOCUMENT = readFileSync(new URL("../../../docs/cli.md", import.meta.url), "utf8");

/** All commands with an action, with their full names. */
function commandsOf(command: Command, path: readonly string[] = []): [string, Command][] {
  return command.commands.flatMap((each): [string, Command][] => {
    const to = [...path, each.name()];
    return each.commands.length > 0 ? commandsOf(each, to) : [[to.join(" "), each]];
  });
}

const COMMANDS = commandsOf(programOf([], () => undefined));

describe.each(COMMANDS)("holdfast %s", (_, command) => {
  const help = command.helpInformation();
  const names = command.options.map(({ long }) => long ?? "");

  it("lists each option in the help, the options of foreign tables last", () => {
    for (const name of names) expect(help).toContain(name);
    const foreign = help.indexOf("Options for tables of other clients");
    if (foreign === -1) return;
    expect(foreign).toBeGreaterThan(help.indexOf("\nOptions:"));
    expect(help.indexOf("--observations")).toBeGreaterThan(foreign);
  });
});

/** The options of `holdfast` in the document: in code within the prose, and before the `--` of an example. */
function documentedOptions(): string[] {
  const prose = DOCUMENT.replace(/^```[\s\S]*?^```/gm, "");
  const inProse = [...prose.matchAll(/`([^`]*)`/g)].map(([, code = ""]) => code);
  const commands = [...DOCUMENT.matchAll(/^holdfast (?!complete).*$/gm)].map(([line]) => line);
  const texts = [...inProse, ...commands].map((text) => text.split(/ -- |#/)[0] ?? "");
  return texts.flatMap((text) => text.match(/(?<![\w-])--[a-z][\w-]*/g) ?? []);
}

it("docs/cli.md names only options that exist", () => {
  const known = new Set(COMMANDS.flatMap(([, { options }]) => options.map(({ long }) => long)));
  const named = documentedOptions();
  expect(named.length).toBeGreaterThan(30);
  const general = ["--help", "--version", "--global"];
  expect(named.filter((name) => !known.has(name) && !general.includes(name))).toEqual([]);
});

it("`table policy --help` has each feature of a policy", () => {
  const [, policy] = COMMANDS.find(([name]) => name === "table policy") ?? [];
  const parts: string[] = [];
  policy?.configureOutput({ writeOut: (text) => void parts.push(text) }).outputHelp();
  const help = parts.join("");
  for (const feature of POLICY_FEATURES) expect(help).toMatch(new RegExp(`^  ${feature} `, "m"));
});

describe("the manual page", () => {
  const page = readFileSync(new URL("../dist/holdfast.1", import.meta.url), "utf8");
  const text = page.replaceAll("\\-", "-");

  it.each(COMMANDS)("has `holdfast %s` with each option", (name, command) => {
    const section =
      text.split("\n.SS ").find((each) => each.startsWith(`"holdfast ${name}"`)) ?? "";
    for (const { long } of command.options) expect(section).toContain(long);
  });

  it("has only the roff requests that the generator writes", () => {
    const instructions = page.split("\n").filter((line) => /^[.']/.test(line));
    for (const line of instructions) expect(line).toMatch(/^\.(?:TH|SH|SS|nf|fi|B|I)\b/);
    expect(page).not.toMatch(/(?<!\\)-/);
  });
});

it("the output has no colours, also where they are asked for", () => {
  const env = { ...process.env, FORCE_COLOR: "3", NO_COLOR: undefined, TERM: "xterm-256color" };
  const { stdout, stderr } = spawnSync(process.execPath, [CLI_FILE, "lock", "--help"], { env });
  expect(`${stdout}`).toContain("--wait");
  expect(`${stdout}${stderr}`).not.toContain("\u001b");
});
