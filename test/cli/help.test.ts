import { readFileSync } from "node:fs";
import type { Command } from "commander";
import { describe, expect, it } from "vitest";
import { programOf } from "../../src/cli/program.js";
import { POLICY_FEATURES } from "../../src/table/policy.js";

/** The help of each command, and docs/cli.md. */

const DOCUMENT = readFileSync(new URL("../../docs/cli.md", import.meta.url), "utf8");

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

  it("lists each option in its help, its own before those of foreign tables", () => {
    for (const name of names) expect(help).toContain(name);
    const foreign = help.indexOf("Options for tables of other clients");
    if (foreign === -1) return;
    expect(foreign).toBeGreaterThan(help.indexOf("\nOptions:"));
    expect(help.indexOf("--observations")).toBeGreaterThan(foreign);
  });

  it("has each option in docs/cli.md", () => {
    const missing = names.filter((name) => !new RegExp(`${name}(?![\\w-])`).test(DOCUMENT));
    expect(missing).toEqual([]);
  });
});

it("`table policy --help` has each feature of a policy", () => {
  const [, policy] = COMMANDS.find(([name]) => name === "table policy") ?? [];
  const parts: string[] = [];
  policy?.configureOutput({ writeOut: (text) => void parts.push(text) }).outputHelp();
  const help = parts.join("");
  for (const feature of POLICY_FEATURES) expect(help).toMatch(new RegExp(`^  ${feature} `, "m"));
});
