import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import { shared } from "../../../test/support/shared.js";
import { inspect } from "../../holdfast/src/index.js";
import { CliWorld, type Running, until } from "./support.js";

const world = await shared(CliWorld.start());

/** A command that notes its run in a file, and goes on until another file exists. */
function waiting(name: string): {
  readonly runs: () => string[];
  go: () => void;
  command: string[];
} {
  const [log, gate] = [world.file(`${name}.log`), world.file(`${name}.gate`)];
  const script = `echo "$HOLDFAST_LEASE_FENCE" >> "${log}"; while [ ! -e "${gate}" ]; do sleep 0.02; done; exit 3`;
  return {
    runs: () => (existsSync(log) ? readFileSync(log, "utf8").trim().split("\n") : []),
    go: () => writeFileSync(gate, ""),
    command: ["--", "sh", "-c", script],
  };
}

function linesOf(file: string): number {
  return existsSync(file) ? readFileSync(file, "utf8").trim().split("\n").length : 0;
}

describe("holdfast coalesce", () => {
  it("runs the command, and exits with its status", async () => {
    const result = await world.run(["coalesce", "a", "--", "sh", "-c", "exit 7"]);
    expect(result).toMatchObject({ status: 7, stdout: "", stderr: "" });
    expect((await inspect(world.locks, "a")).state).toBe("free");
  });

  it("leaves a call during a run to the process of the run, which runs once more", async () => {
    const { runs, go, command } = waiting("b");
    const first = world.start(["coalesce", "b", "--owner", "one", ...command]);
    await until(() => runs().length === 1, "the first run");
    const words = ["coalesce", "b", "--", "sh", "-c", "exit 9"];
    expect(await world.run(words)).toMatchObject({
      ...{ status: 0, stdout: "" },
      stderr: 'holdfast: "b" is held by one; a run that begins later follows.\n',
    });
    const { status, stdout } = await world.run([...words.slice(0, 2), "--json", ...words.slice(2)]);
    expect([status, JSON.parse(stdout)]).toEqual([0, { ran: false, by: "one" }]);
    go();
    expect(await first.result).toMatchObject({ status: 3 });
    expect(runs().length).toBe(2);
    expect(new Set(runs()).size).toBe(2);
    expect((await inspect(world.locks, "b")).state).toBe("free");
  });

  it("does not repeat the command after a signal, and leaves the debt to --if-owed", async () => {
    const { runs, command } = waiting("c");
    const first = world.start(["coalesce", "c", ...command]);
    await until(() => runs().length === 1, "the first run");
    expect((await world.run(["coalesce", "c", "--", "true"])).status).toBe(0);
    first.kill("SIGTERM");
    expect(await first.result).toMatchObject({ status: 143 });
    expect(runs().length).toBe(1);
    expect((await inspect(world.locks, "c")).state).toBe("free");
    const shown = async (...words: string[]) => (await world.run(words)).stdout;
    expect(await shown("inspect", "c")).toMatch(/^calls {2,}a run is owed$/m);
    expect(await shown("ls", "--prefix", "c", "--all")).toMatch(/^c +free; a run is owed/m);
    expect(JSON.parse(await shown("inspect", "c", "--json"))).toMatchObject({ isOwed: true });
    const sweep = ["coalesce", "c", "--if-owed", "--", "sh", "-c", "exit 5"];
    expect((await world.run(sweep)).status).toBe(5);
    expect(await world.run(sweep)).toMatchObject({
      ...{ status: 0, stderr: 'holdfast: No run of "c" is owed.\n' },
    });
  });

  it("ends after a signal to a further run, and keeps what is owed meanwhile", async () => {
    const log = world.file("f.log");
    const script = `trap 'exit 0' USR1; echo on >> "${log}"; sleep 60 & wait`;
    const first = world.start(["coalesce", "f", "--", "sh", "-c", script]);
    const call = ["coalesce", "f", "--", "true"];
    await until(() => linesOf(log) === 1, "the first run");
    await world.run(call);
    // The command ends, and is not asked to.
    first.kill("SIGUSR1");
    await until(() => linesOf(log) === 2, "the second run");
    await world.run(call);
    first.kill("SIGTERM");
    expect((await first.result).status).toBe(143);
    expect(linesOf(log)).toBe(2);
    expect(await inspect(world.locks, "f")).toMatchObject({ state: "free", isOwed: true });
  });

  it.each([
    ["keeps what was owed to others if a signal has ended the run", "exit 1", true],
    ["has paid what was owed if the run ends with status 0 at a signal", "exit 0", false],
  ])("%s", async (_, ending, isOwed) => {
    const name = isOwed ? "i" : "j";
    const log = world.file(`${name}.log`);
    const script = `trap 'exit 0' USR1; trap '${ending}' TERM; echo on >> "${log}"; sleep 60 & wait`;
    const first = world.start(["coalesce", name, "--", "sh", "-c", script]);
    await until(() => linesOf(log) === 1, "the first run");
    await world.run(["coalesce", name, "--", "true"]);
    first.kill("SIGUSR1");
    await until(() => linesOf(log) === 2, "the second run");
    first.kill("SIGTERM");
    expect((await first.result).status).toBe(isOwed ? 1 : 0);
    expect(await inspect(world.locks, name)).toMatchObject({ state: "free", isOwed });
  });

  it("ends at a signal before the command runs, and runs nothing", async () => {
    const { runs, command } = waiting("d");
    const { dynamodb } = world.server;
    const { handle } = dynamodb;
    let call: Running | undefined;
    // With the first request.
    dynamodb.handle = (operation, body) => {
      dynamodb.handle = handle;
      call?.kill("SIGTERM");
      return handle(operation, body);
    };
    call = world.start(["coalesce", "d", ...command]);
    expect(await call.result).toMatchObject({ status: 143 });
    expect(runs()).toEqual([]);
    expect((await inspect(world.locks, "d")).state).not.toBe("held");
  });

  it("lets an interrupted run tidy up, and keeps what it owes", async () => {
    const log = world.file("e.log");
    const script = `trap 'sleep 0.1; echo tidy >> "${log}"; exit 0' TERM; echo on >> "${log}"; while :; do sleep 0.02; done`;
    const words = ["coalesce", "e", "--lease", "3s", "--", "sh", "-c", script];
    const first = world.start(words);
    await until(() => existsSync(log), "the run");
    expect((await world.run(["interrupt", "e", "--by", "alice"])).status).toBe(0);
    expect(await first.result).toMatchObject({
      ...{ status: 79, stderr: expect.stringContaining("alice interrupted") },
    });
    expect(readFileSync(log, "utf8")).toBe("on\ntidy\n");
    expect(await inspect(world.locks, "e")).toMatchObject({ state: "free", isOwed: true });
  });

  it.each([[[]], [["--json"]]])(
    "tells once of an interruption of a further run: %j",
    async (more) => {
      const name = `h${more.length}`;
      const log = world.file(`${name}.log`);
      const script = `exec 2> /dev/null; trap 'exit 0' USR1; trap 'exit 1' TERM; echo on >> "${log}"; while :; do sleep 0.02; done`;
      const words = ["coalesce", name, "--lease", "3s", ...more, "--", "sh", "-c", script];
      const first = world.start(words);
      await until(() => linesOf(log) === 1, "the first run");
      expect((await world.run(["coalesce", name, "--", "true"])).status).toBe(0);
      first.kill("SIGUSR1");
      await until(() => linesOf(log) === 2, "the second run");
      expect((await world.run(["interrupt", name, "--by", "alice"])).status).toBe(0);
      expect(await first.result).toMatchObject({
        ...{ status: 79, stderr: expect.stringMatching(/^[^\n]*alice[^\n]*interrupted[^\n]*\n$/) },
      });
      expect(linesOf(log)).toBe(2);
      expect(await inspect(world.locks, name)).toMatchObject({ state: "free", isOwed: true });
    },
  );

  it("does not count a run that was cut off while its lease was not lost", async () => {
    const log = world.file("g.log");
    const first = world.start([
      "coalesce",
      "g",
      "--",
      "sh",
      "-c",
      // Later than the guard's message about the start.
      `sleep 0.5; echo $PPID > "${log}"; sleep 60`,
    ]);
    await until(() => linesOf(log) === 1, "the run");
    // The guard of the command.
    process.kill(Number(readFileSync(log, "utf8")), "SIGKILL");
    expect(await first.result).toMatchObject({
      ...{ status: 70, stderr: expect.stringContaining('The guard of lock "g" died') },
    });
    expect(await inspect(world.locks, "g")).toMatchObject({ state: "free", isOwed: true });
  });

  it("takes one name", async () => {
    const result = await world.run(["coalesce", "a", "b", "--", "true"]);
    expect(result).toMatchObject({ status: 64, stderr: expect.stringContaining("single name") });
  });
});
