import { PutItemCommand } from "@aws-sdk/client-dynamodb";
import { describe, expect, it } from "vitest";
import { shared } from "../../../test/support/shared.js";
import { election } from "../../holdfast/src/election/index.js";
import { mutex, readLock, semaphore } from "../../holdfast/src/index.js";
import { CliWorld } from "./support.js";

const world = await shared(CliWorld.start());

describe("holdfast history", () => {
  it("shows holders and forced releases with their reasons, newest first", async () => {
    for (const owner of ["first", "second"]) {
      const words = ["lock", "a", "--history", "--owner", owner, "--", "true"];
      expect((await world.run(words)).status).toBe(0);
    }
    const stuck = await mutex(world.locks, "a").acquire();
    await world.run(["release", "a", "--force", "--now", "--reason", "it hangs\u001b"]);
    await world.run(["lock", "a", "--history", "--owner", "third", "--", "true"]);
    const { status, stdout } = await world.run(["history", "a"]);
    expect(status).toBe(0);
    const rows = stdout
      .trimEnd()
      .split("\n")
      .map((line) => line.split(/ {2,}/));
    expect(rows.map((row) => row[1])).toEqual([
      "WHAT",
      "claim",
      "claim",
      "claim",
      "freed by force",
    ]);
    expect(rows[1]?.slice(3)).toEqual(["third", expect.any(String), "1 not noted before"]);
    expect(rows[4]?.slice(-2)).toEqual([stuck.holder, "it hangs\\u001b"]);
    const { grants, forced } = JSON.parse((await world.run(["history", "a", "--json"])).stdout);
    expect(grants.map(({ owner }: { owner: string }) => owner)).toEqual([
      "third",
      "second",
      "first",
    ]);
    expect(forced).toMatchObject([{ holder: stuck.holder, reason: "it hangs\u001b", now: true }]);
  });

  it("explains how to note grants if the history is empty", async () => {
    const { status, stdout, stderr } = await world.run(["history", "b"]);
    expect({ status, stdout }).toEqual({ status: 0, stdout: "" });
    expect(stderr).toContain("`history`");
  });

  it.each(["inspect", "history"])("and %s point at a record of another kind", async (command) => {
    const { locks } = world;
    const permit = await semaphore(locks, "stripe", { permits: 2 }).acquire();
    const reader = await readLock(locks, "config").acquire();
    const term = await election(locks, "pool").campaign();
    const said = async (...words: string[]) => (await world.run([command, ...words])).stderr;
    expect(await said("stripe")).toMatch(
      `There is a semaphore with this name: holdfast ${command} --kind semaphore -- stripe`,
    );
    expect(await said("config")).toMatch(
      `There is a read-write lock with this name: holdfast ${command} --kind read-write -- config`,
    );
    const shows = command === "inspect" ? "leader" : "history --kind leader";
    expect(await said("pool")).toMatch(
      `There is an election with this name: holdfast ${shows} -- pool`,
    );
    expect(await said("stripe", "--kind", "read-write")).toMatch("There is a semaphore");
    expect(await said("a", "--kind", "semaphore")).toMatch(
      `There is a lock with this name: holdfast ${command} --kind lock -- a`,
    );
    for (const words of [["stripe", "--json"], ["stripe", "--kind", "semaphore"], ["c"]]) {
      expect(await said(...words)).not.toMatch("There is");
    }
    await Promise.all([permit.release(), reader.release(), term.release()]);
  });

  it.each(["inspect", "history"])(
    "and %s succeed whatever the other kinds answer",
    async (command) => {
      const Item = { pk: { S: "semaphore#orders" }, sk: { S: "lease" }, v: { N: "99" } };
      await world.client.send(new PutItemCommand({ TableName: "locks", Item }));
      const { dynamodb } = world.server;
      const { handle } = dynamodb;
      const type = "com.amazon.coral.availability#ThrottlingException";
      dynamodb.handle = (operation, body) =>
        /"(lock|semaphore)#/.test(JSON.stringify(body))
          ? handle(operation, body)
          : { status: 400, body: { __type: type, message: "slower" } };
      const { status, stderr } = await world.run([command, "orders"]);
      dynamodb.handle = handle;
      expect(status).toBe(0);
      expect(stderr).toMatch("There is a semaphore");
      expect(stderr).not.toMatch(/throttled|layout/);
    },
  );
});
