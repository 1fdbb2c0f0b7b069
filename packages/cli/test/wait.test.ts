import { afterAll, beforeAll, expect, it } from "vitest";
import { election } from "../../holdfast/src/election/index.js";
import { mutex } from "../../holdfast/src/index.js";
import { CliWorld } from "./support.js";

let world: CliWorld;
beforeAll(async () => {
  world = await CliWorld.start();
  await mutex(world.locks, "a").acquire({ owner: "one", lease: "1s", renew: "manual" });
});
afterAll(() => world.close());

it("the error of a wait names the option `--wait` and, with --json, the facts about the holder", async () => {
  const { locks } = world;
  await mutex(locks, "b").acquire({ owner: "one" });
  const words = ["lock", "b", "--wait", "0", "--", "true"];
  const { status, stderr } = await world.run(words);
  expect(status).toBe(75);
  expect(stderr).toContain("one holds it");
  expect(stderr).not.toContain("To wait that long");
  const waited = await world.run(["lock", "b", "--wait", "300ms", "--", "true"]);
  expect(waited.stderr).toContain("To wait that long, use `--wait lease+5s`.");
  const told = await world.run(["lock", "b", "--json", ...words.slice(2)]);
  const { error } = JSON.parse(told.stderr) as { error: { holder: object } };
  expect(error).toMatchObject({ code: "not-acquired", holder: { owner: "one", leaseMs: 30_000 } });
});

it("waits beyond the lease with `--wait lease+5s`", async () => {
  const words = ["lock", "a", "--lease", "10s", "--wait", "lease+5s", "--", "true"];
  expect(await world.run(words)).toMatchObject({ status: 0 });
});

it.each([
  ["release", "c", "--force", "--reason", "r"],
  ["resign", "c"],
])("asks, and does not wait, with `--wait 0`: %s", async (...words) => {
  const options = { lease: "60s", renew: "30s" } as const;
  const held = await (words[0] === "resign"
    ? election(world.locks, "c", options).campaign()
    : mutex(world.locks, "c").acquire(options));
  expect(await world.run([...words, "--wait", "0"])).toMatchObject({
    ...{ status: 75, stderr: expect.stringContaining("The request remains") },
  });
  await held.release().catch(() => undefined);
});

it.each([
  [["lock", "a", "--wait", "5", "--", "true"], /^holdfast: --wait must be a duration/],
  [["lock", "a", "--bogus", "--", "true"], /[^.]\. See `holdfast lock --help`\.\n$/],
  [["table", "check", "--bogus"], /[^.]\. See `holdfast table check --help`\.\n$/],
  [["inspect", "a", "--kind", "z"], /[^.]\. See `holdfast inspect --help`\.\n$/],
])("names the command's own option or help in a usage error: %j", async (words, message) => {
  expect(await world.run(words)).toMatchObject({
    status: 64,
    stderr: expect.stringMatching(message),
  });
});
