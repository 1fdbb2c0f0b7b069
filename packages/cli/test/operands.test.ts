import type { Command } from "commander";
import { describe, expect, it } from "vitest";
import { failureOf } from "../src/output/exit-codes.js";
import { programOf } from "../src/program.js";

/** Parses words without running a command: returns "runs", or the usage error. */
function parsed(words: readonly string[]): "runs" | string {
  let hasRun = false;
  try {
    const program = programOf(words, () => {
      hasRun = true;
    });
    silence(program);
    program.parse([...words], { from: "user" });
  } catch (error) {
    return (error as Error).message;
  }
  return hasRun ? "runs" : "nothing";
}

function silence(command: Command): void {
  command.configureOutput({ writeOut: () => undefined, writeErr: () => undefined });
  for (const below of command.commands) silence(below);
}

interface Verb {
  readonly words: readonly string[];
  readonly command: Command;
}

/** All commands, each with the words to call it. */
function verbs(command: Command, before: readonly string[] = []): Verb[] {
  return command.commands.flatMap((below) => {
    const words = [...before, below.name()];
    return below.commands.length > 0 ? verbs(below, words) : [{ words, command: below }];
  });
}

/** Required options of a command, beside its operands. */
const REQUIRED: Readonly<Record<string, readonly string[]>> = {
  "table policy": ["--for", "lock"],
  semaphore: ["--permits", "2"],
  once: ["--occurrence", "a"],
  schedule: ["--every", "1m"],
};
/** Options that a command requires without a name. */
const NAMELESS: Readonly<Record<string, readonly string[]>> = {
  watch: ["--prefix", "p"],
};
const RUN_A_COMMAND = ["lock", "semaphore", "elect", "coalesce", "once", "schedule"];

const ALL = verbs(programOf([], () => undefined)).map(({ words, command }) => {
  const title = words.join(" ");
  const runsACommand = RUN_A_COMMAND.includes(title);
  const operands = runsACommand
    ? ["name"]
    : command.registeredArguments
        .filter(({ required }) => required)
        .map((_, index) => `operand-${index}`);
  const most = runsACommand ? 1 : command.registeredArguments.length;
  const call = [...words, ...(REQUIRED[title] ?? [])];
  return { title, call, operands, most, command, runsACommand };
});
// The words of `complete` after two dashes are the command line to complete.
const REFUSE_MORE = ALL.filter(({ title }) => title !== "complete");
const WITH_NAMES = ALL.filter(({ operands }) => operands.length > 0);

describe("operands of the command", () => {
  it.each(ALL)("$title suffice to run the command", ({ title, call, operands, runsACommand }) => {
    const rest = runsACommand ? ["--", "true"] : (NAMELESS[title] ?? []);
    expect(parsed([...call, ...operands, ...rest])).toBe("runs");
  });

  it.each(WITH_NAMES)("$title are refused if an operand is missing", ({ call, operands }) => {
    expect(parsed([...call, ...operands.slice(1)])).toMatch(/missing|after two dashes/);
  });

  it.each(REFUSE_MORE)("$title are not taken from the words after two dashes", (verb) => {
    const { call, operands, most, runsACommand, title } = verb;
    const given = runsACommand ? [] : operands;
    const words = [...call, ...(NAMELESS[title] ?? []), ...given, "--"];
    const command = ["hostname", "--long", "x", "y"].slice(0, most - given.length + 1);
    expect(parsed([...words, ...command])).toMatch(/too many arguments|missing/);
  });

  it.each(ALL)("$title are not taken as the value of an option", (verb) => {
    const { call, operands, command } = verb;
    const options = command.options.filter(
      ({ required, argChoices }) => required && argChoices === undefined,
    );
    for (const { long } of options) {
      const words = [...call, ...operands, long as string, "--", "hostname", "x"];
      expect(parsed(words), words.join(" ")).toMatch(/no value before the two dashes|too many/);
    }
  });
});

describe("the value of an option", () => {
  it.each(ALL)("is not another option: $title", ({ call, operands, command, runsACommand }) => {
    const rest = runsACommand ? ["--", "true"] : [];
    const options = command.options.filter(
      ({ required, argChoices }) => required && argChoices === undefined,
    );
    for (const { long } of options) {
      for (const next of [long, `${long}=x`]) {
        const words = [...call, ...operands, long as string, next as string, ...rest];
        expect(parsed(words), words.join(" ")).toMatch(/no value before --|either a name or/);
      }
    }
  });

  it.each(ALL)("is not empty: $title", ({ call, operands, command, runsACommand }) => {
    const rest = runsACommand ? ["--", "true"] : [];
    const options = command.options.filter(
      ({ long, required, argChoices }) =>
        required && argChoices === undefined && long !== "--data" && long !== "--prefix",
    );
    for (const { long } of options) {
      const words = [...call, ...operands, long as string, "", ...rest];
      expect(parsed(words), words.join(" ")).toMatch(/has an empty value|either a name or/);
    }
  });

  it.each(["lock a --data= -- true", "ls --prefix="])("may be empty: %s", (line) => {
    expect(parsed(line.split(" "))).toBe("runs");
  });

  it("may look like another option in one word with its own", () => {
    expect(parsed("lock a --data=--fair -- true".split(" "))).toBe("runs");
  });
});

describe("two dashes before a name with a leading dash", () => {
  it.each([
    "inspect --table t -- -x",
    "inspect --table t -- --",
    "release --table t --force --reason r -- --table",
    "semaphore --table t --set-limit 5 -- -x",
    "inspect f --table t --namespace=--",
  ])("run the command: %s", (line) => {
    expect(parsed(line.split(" "))).toBe("runs");
  });

  it.each([
    "semaphore --table t --set-limit 5 -- hostname",
    "semaphore x --table t --set-limit 5 -- -x",
    "inspect f --table t --namespace --",
  ])("are refused in %s", (line) => {
    expect(parsed(line.split(" "))).toMatch(/takes one name|no value before the two dashes/);
  });
});

describe("the user's command after two dashes", () => {
  const REFUSED: readonly (readonly [string, RegExp])[] = [
    ["lock -- hostname", /name .* is missing/],
    ["lock -- sh -c x", /name .* is missing/],
    ["lock --wait 0 --table t -- sh -c x", /name .* is missing/],
    ["elect -- sh", /name .* is missing/],
    ["elect -- sh -c x", /name .* is missing/],
    ["elect --once -- sh -c x", /name .* is missing/],
    ["elect a b -- sh", /one name/],
    ["lock a sh", /after two dashes/],
    ["lock a --", /after two dashes/],
    ["elect a sh", /after two dashes/],
    ["elect a --", /after two dashes/],
  ];

  it.each(REFUSED)("does not run for the words: %s", (line, message) => {
    expect(parsed(line.split(" "))).toMatch(message);
  });

  it("is refused as a usage error", () => {
    const words = ["lock", "--", "hostname"];
    try {
      programOf(words, () => undefined).parse(words, { from: "user" });
      expect.unreachable();
    } catch (error) {
      expect(failureOf(error)).toMatchObject({ code: "usage", exitCode: 64 });
    }
  });

  it("may have two dashes and option words among the arguments", () => {
    for (const line of ["lock a b -- sh -- --wait x", "elect a -- sh -- --once"]) {
      expect(parsed(line.split(" "))).toBe("runs");
    }
  });
});
