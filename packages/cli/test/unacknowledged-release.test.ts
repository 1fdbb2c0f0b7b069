import { afterAll, describe, expect, it } from "vitest";
import { CliWorld, until } from "./support.js";

/** The end of a command in an outage of the table. */

const worlds: CliWorld[] = [];
afterAll(async () => {
  await Promise.all(worlds.splice(0).map((world) => world.close()));
});

const CUT_OFF = /^holdfast: SIGINT came before DynamoDB acknowledged the release\.[^\n]*\n$/;

/** Runs a command line until its user's command has ended, and the table serves no request. */
async function endedInOutage(...words: string[]) {
  return (await outage(...words)).running;
}

/** The same, and `heal` ends the outage. */
async function outage(...words: string[]) {
  const world = await CliWorld.start();
  worlds.push(world);
  const running = world.start([...words, "--", "sh", "-c", "echo on; sleep 0.5; exit 3"]);
  await running.printed("on");
  const { dynamodb } = world.server;
  const { handle } = dynamodb;
  let refused = 0;
  dynamodb.handle = () => {
    refused += 1;
    const type = "com.amazon.coral.service#InternalServerError";
    return { status: 500, body: { __type: type, message: "down" } };
  };
  await until(() => refused > 0, "the release");
  const heal = (): void => {
    dynamodb.handle = handle;
  };
  return { world, running, heal };
}

describe("a command whose release is not acknowledged", () => {
  it.each([
    ["lock", "a"],
    ["semaphore", "a", "--permits", "1"],
    ["once", "a", "--occurrence", "1"],
    ["elect", "a", "--once"],
  ])(
    "ends soon after a signal, in one line, with the command's own status: %s",
    async (...words) => {
      const running = await endedInOutage(...words);
      running.kill("SIGINT");
      const { status, stderr } = await running.result;
      expect(status).toBe(3);
      // After its own error, the release would be told of in other words.
      expect(stderr).toMatch(CUT_OFF);
    },
  );

  it.each([
    { expected: 3, words: ["coalesce", "a"] },
    { expected: 130, words: ["elect", "a"] },
    { expected: 130, words: ["schedule", "a", "--every", "1s"] },
  ])(
    "ends soon after a second signal, where the first one ends further runs: $words.0",
    async ({ expected, words }) => {
      const running = await endedInOutage(...words);
      running.kill("SIGINT");
      const again = setInterval(() => running.kill("SIGINT"), 200);
      const { status, stderr } = await running.result.finally(() => clearInterval(again));
      expect(status).toBe(expected);
      // A schedule has told of its failed run before.
      expect(stderr.replace(/^.*exit status 3\..*\n/, "")).toMatch(CUT_OFF);
    },
  );

  it("leaves a release that a signal meets the time for its answer", async () => {
    const world = await CliWorld.start();
    worlds.push(world);
    const { dynamodb } = world.server;
    const running = world.start(["lock", "a", "--", "sh", "-c", "exit 3"]);
    const handle = dynamodb.handle;
    let writes = 0;
    dynamodb.handle = (operation, body) => {
      if (operation === "UpdateItem") writes += 1;
      if (writes === 2) running.kill("SIGINT");
      return handle(operation, body);
    };
    expect(await running.result).toMatchObject({ status: 3, stderr: "" });
  });

  // The error comes after 10 s, and the lease of 12 s ends while the client would close.
  it("tells of it once", async () => {
    const { status, stderr } = await (await endedInOutage("lock", "a", "--lease", "12s")).result;
    expect(status).toBe(3);
    expect(stderr).toMatch(/^holdfast: DynamoDB did not acknowledge the release[^\n]*\n$/);
  });

  // The release rejects after 10 s.
  it.concurrent.each([
    ["lock", "a", "--lease", "1m"],
    ["semaphore", "a", "--permits", "1", "--lease", "1m"],
  ])("frees what it held, if the outage ends after its error: %s", async (...words) => {
    const { world, running, heal } = await outage(...words);
    let isOver = false;
    setTimeout(() => {
      heal();
      isOver = true;
    }, 12_000);
    const { status, stderr } = await running.result;
    // The exit of the process would have ended the client, which goes on in this process.
    expect(isOver).toBe(true);
    expect(status).toBe(3);
    expect(stderr).toMatch(/^holdfast: DynamoDB did not acknowledge the release[^\n]*\n$/);
    const isFree = await world.run([...words, "--wait", "0", "--", "true"]);
    expect(isFree.status).toBe(0);
  });

  it.concurrent("ends within a second of a signal after its error", async () => {
    const running = await endedInOutage("lock", "a", "--lease", "1m");
    await running.printed("did not acknowledge", "stderr");
    const startMs = performance.now();
    running.kill("SIGINT");
    const { status, stderr } = await running.result;
    expect(status).toBe(3);
    expect(performance.now() - startMs).toBeLessThan(3_000);
    expect(stderr).toMatch(/^holdfast: DynamoDB did not acknowledge the release[^\n]*\n$/);
  });
});
