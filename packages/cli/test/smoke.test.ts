import type { Command } from "commander";
import { describe, expect, it } from "vitest";
import { shared } from "../../../test/support/shared.js";
import { programOf } from "../src/program.js";
import { CliWorld, type Result } from "./support.js";

/** Each command once as the built program, in a process of its own: the same as in the process of the tests. */

const ENDING: readonly (readonly [line: string, status: number])[] = [
  ["--version", 0],
  ["lock a --owner me -- sh -c echo", 0],
  ["semaphore s --permits 1 -- echo ran", 0],
  ["elect e --once -- sh -c exit", 0],
  ["leader e", 75],
  ["resign e", 0],
  ["cost", 0],
  ["ls --prefix none", 0],
  ["sessions", 0],
  ["assignment none", 0],
  ["inspect none --json", 0],
  ["history none", 0],
  ["queue none", 0],
  ["release none --holder h", 76],
  ["interrupt none", 0],
  ["coalesce sync -- echo ran", 0],
  ["once task -- true", 64],
  ["runs none", 0],
  ["schedule task --cron wrong -- true", 64],
  ["table create", 0],
  ["table check --sk none --json", 78],
  ["table policy --for lock", 0],
  ["diagnose --table none", 78],
  ["complete bash", 0],
  ["inspect", 64],
  ["object inspect key --json", 64],
  ["demo --help", 0],
];

/** Commands that run until a signal ends them, each with its first output. */
const ENDLESS: readonly (readonly [line: string, output: RegExp])[] = [
  ["watch none --json", /^\{.*"change":"seen".*"state":"absent".*\}\n$/],
  ["serve --json", /^\{"url":"http.*\}\n$/],
  ["dev --port 0 --json", /^\{"endpoint":"http.*\}\n$/],
];

function titlesOf(command: Command, path: readonly string[] = []): string[] {
  return command.commands.flatMap((each) => {
    const to = [...path, each.name()];
    return each.commands.length > 0 ? titlesOf(each, to) : [to.join(" ")];
  });
}

const world = await shared(CliWorld.start());

describe("the built program", () => {
  it.each(ENDING)(
    "prints and returns the same as a run in this process: holdfast %s",
    async (line, status) => {
      const words = line.split(" ");
      const built: Result = await world.spawn(words).result;
      expect(built).toEqual({ ...(await world.run(words)), status });
    },
  );

  it.each(ENDLESS)("ends at a signal: holdfast %s", async (line, output) => {
    const { kill, printed, result } = world.spawn(line.split(" "));
    await printed("\n");
    kill("SIGTERM");
    expect(await result).toMatchObject({ status: 143, stdout: expect.stringMatching(output) });
  });

  it("is started here for every command", () => {
    const lines = [...ENDING, ...ENDLESS].map(([line]) => `${line} `);
    // A store or several processes: packages/cli/test/object.test.ts and packages/cli/test/demo.test.ts start these.
    const more = ["object put", "object copy", "object mv"];
    const missing = titlesOf(programOf([], () => undefined)).filter(
      (title) => !more.includes(title) && !lines.some((line) => line.startsWith(`${title} `)),
    );
    expect(missing).toEqual([]);
  });
});
