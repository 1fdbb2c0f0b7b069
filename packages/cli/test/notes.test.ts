import { once } from "node:events";
import { existsSync } from "node:fs";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { election } from "../../holdfast/src/election/index.js";
import { type Lease, mutex } from "../../holdfast/src/index.js";
import { CliWorld, pause, until } from "./support.js";

/** What a command tells on stderr while it waits. */

let world: CliWorld;
// Kept: a lease that is garbage-collected is not renewed.
let held: Lease;
beforeAll(async () => {
  world = await CliWorld.start();
  held = await mutex(world.locks, "held").acquire({ owner: "somebody" });
});
afterAll(async () => {
  await held.release();
  await world.close();
});

const DEAD = ["--endpoint", "http://127.0.0.1:1"];

/** A server that accepts connections, and answers nothing. */
async function silentTable() {
  const sockets: Socket[] = [];
  const server = createServer((socket) => sockets.push(socket)).listen(0, "127.0.0.1");
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const close = (): void => {
    server.close();
    for (const socket of sockets) socket.destroy();
  };
  return { endpoint: `http://127.0.0.1:${port}`, close };
}

describe("a command that scans the table", () => {
  const LONG = "x".repeat(3_000);

  it.each([
    { title: "sessions of a format without", words: ["sessions", "--format", "dynamolock"] },
    { title: "an assignment with a long name", words: ["assignment", LONG] },
    { title: "tasks of another format", words: ["ls", "--kind", "once", "--format", "dynamolock"] },
  ])("says only what is wrong with its usage: $title", async ({ words }) => {
    const { status, stderr } = await world.run(words);
    expect(status).toBe(64);
    expect(stderr.trim().split("\n")).toHaveLength(1);
  });

  it.each([["sessions"], ["assignment", "a"], ["ls"]])(
    "says so once before its first request: %s",
    async (...words) => {
      const { status, stderr } = await world.run(words);
      expect(status).toBe(0);
      expect(stderr.match(/This scans the whole table/g)).toHaveLength(1);
      expect(stderr.indexOf("This scans")).toBe("holdfast: ".length);
    },
  );
});

describe.concurrent("a command whose table does not answer", () => {
  it("says so once, with endpoint and cause, before it gives up", async () => {
    const running = world.start(["lock", "a", "--wait", "3s", ...DEAD, "--", "true"]);
    await running.printed("No answer from", "stderr");
    expect(running.text.stderr).toMatch(/at http:\/\/127\.0\.0\.1:1 .*ECONNREFUSED/);
    // Not yet the error.
    expect(running.text.stderr.trim().split("\n")).toHaveLength(1);
    const { status, stderr } = await running.result;
    expect(status).toBe(69);
    expect(stderr.trim().split("\n")).toHaveLength(2);
  });

  it.each([["ls"], ["table", "check"], ["diagnose"], ["inspect", "a"]])(
    "says so before a request has timed out: %s",
    async (...words) => {
      const silent = await silentTable();
      const running = world.start([...words, "--endpoint", silent.endpoint]);
      await running.printed("No answer from", "stderr");
      expect(running.text.stderr).toContain(silent.endpoint);
      silent.close();
      expect((await running.result).status).toBe(69);
    },
  );

  it.each([
    ["watch", "a"],
    ["watch", "--prefix", "a"],
    ["watch", "a", "--kind", "semaphore"],
    ["queue", "a", "--watch"],
    ["leader", "a"],
  ])("ends at once at a signal, without an error: %s", async (...words) => {
    const silent = await silentTable();
    const running = world.start([...words, "--endpoint", silent.endpoint]);
    await running.printed("No answer from", "stderr");
    const startMs = performance.now();
    running.kill("SIGINT");
    const { status, signal, stderr } = await running.result;
    expect(performance.now() - startMs).toBeLessThan(1_000);
    // Without a handler the signal itself ends the process.
    expect(signal ?? status).toBe(words[0] === "leader" ? "SIGINT" : 130);
    expect(stderr).toMatch(/^holdfast: No answer[^\n]*\n$/);
    silent.close();
  });

  it("says nothing before the error with --quiet", async () => {
    const words = ["lock", "a", "--wait", "3s", "--quiet", ...DEAD, "--", "true"];
    const { status, stderr } = await world.run(words);
    expect(status).toBe(69);
    expect(stderr.trim().split("\n")).toHaveLength(1);
    expect(stderr).toMatch(/at http:\/\/127\.0\.0\.1:1 \(.*ECONNREFUSED/);
  });
});

describe("a command that outlasts an outage", () => {
  it.each([
    ["at its start", 0],
    ["while it waits", 3_000],
  ])("tells of the outage once, and whom it waits for: %s", async (_, fromMs) => {
    const own = await CliWorld.start();
    const lease = await mutex(own.locks, "a").acquire({ lease: "5m" });
    const { dynamodb } = own.server;
    const { handle } = dynamodb;
    const type = "com.amazon.coral.service#InternalServerError";
    const goDown = (): void => {
      dynamodb.handle = () => ({ status: 500, body: { __type: type, message: "down" } });
    };
    if (fromMs === 0) goDown();
    const words = ["release", "a", "--force", "--reason", "it hangs", "--wait", "1m"];
    const running = own.start(words);
    if (fromMs > 0) await pause(fromMs);
    goDown();
    await running.printed("served no request", "stderr");
    dynamodb.handle = handle;
    await running.printed("its holder was asked", "stderr");
    await lease.release();
    expect((await running.result).status).toBe(0);
    expect(running.text.stderr.trim().split("\n")).toHaveLength(2);
    await own.close();
  });
});

describe.concurrent("a command that waits for a held lock", () => {
  it("names the holder after two seconds, once, in an object with --json, not with --quiet", async () => {
    const words = ["lock", "held", "--wait", "2500ms"];
    const [text, json, quiet] = await Promise.all([
      world.run([...words, "--", "true"]),
      world.run([...words, "--json", "--", "true"]),
      world.run([...words, "--quiet", "--", "true"]),
    ]);
    expect(text.status).toBe(75);
    const [said, error, ...more] = text.stderr.trim().split("\n");
    const seen =
      /^Waiting: somebody holds "held"; a takeover is due in 2[5-9] s if it does not renew\.$/;
    expect(said?.replace("holdfast: ", "")).toMatch(seen);
    expect(error).toContain("was not acquired");
    expect(more).toEqual([]);
    const [note = ""] = json.stderr.trim().split("\n");
    expect(JSON.parse(note)).toEqual({ note: expect.stringMatching(seen) });
    expect(quiet.stderr.trim().split("\n")).toHaveLength(1);
  });

  it("tells again after ten seconds for how long the holder was silent", async () => {
    const silent = await mutex(world.locks, "silent").acquire({ owner: "gone", renew: "manual" });
    const running = world.start(["lock", "silent", "--wait", "1m", "--", "true"]);
    const isTold = (): boolean => running.text.stderr.includes("silent for");
    await until(isTold, "a second note", 20_000);
    const lines = running.text.stderr.trim().split("\n");
    expect(lines).toHaveLength(2);
    const told =
      /Waiting: gone holds "silent", silent for ([\d.]+) s; a takeover is due in (\d+) s if it does not renew\.$/;
    const [, silentS, dueS] = told.exec(lines[1] ?? "") ?? [];
    // A busy machine sees the holder late. The two add up to the lease of 30 s, rounded, and its drift.
    expect(Number(silentS)).toBeGreaterThan(2);
    expect(Math.abs(Number(silentS) + Number(dueS) - 30)).toBeLessThan(3);
    await silent.release();
    expect((await running.result).status).toBe(0);
  });

  it("tells of the run that `once` waits for, and not with --quiet", async () => {
    const words = ["once", "task", "--occurrence", "1", "--if-interrupted", "rerun"];
    const file = world.file("on");
    const first = world.start([...words, "--", "sh", "-c", `touch "${file}"; sleep 3`]);
    await until(() => existsSync(file), "the run");
    const more = [[], ["--quiet"]].map((option) => world.run([...words, ...option, "--", "true"]));
    const [second, quiet] = await Promise.all(more);
    expect(second?.stderr).toMatch(/^holdfast: Waiting: the present run of "task", or its lease/);
    expect(second?.stderr.match(/Waiting/g)).toHaveLength(1);
    expect(quiet?.stderr).toBe("");
    expect((await first.result).stderr).toBe("");
  });

  it.each([
    [
      ["release", "asked", "--force", "--reason", "a test"],
      "is not free yet",
      "holder may still release",
    ],
    [["resign", "asked"], "was asked to resign", "leader may still resign"],
  ])("tells of the wait, and at a signal what remains: %j", async (words, wait, remains) => {
    const held =
      words[0] === "resign"
        ? election(world.locks, "asked", { lease: "20s", renew: "10s" }).campaign()
        : mutex(world.locks, "asked").acquire({ renew: "manual" });
    const lease = await held;
    const running = world.start(words);
    await running.printed(wait, "stderr");
    running.kill("SIGINT");
    const { status, stderr } = await running.result;
    const lines = [wait, `The request remains, and the ${remains}.`];
    expect([status, stderr.trim().split("\n")]).toEqual([
      130,
      lines.map((line) => expect.stringContaining(line)),
    ]);
    await lease.release();
  });

  it("says nothing if the lock is free, or free soon", async () => {
    expect(await world.run(["lock", "free", "--", "sleep", "2.5"])).toMatchObject({ stderr: "" });
  });
});
