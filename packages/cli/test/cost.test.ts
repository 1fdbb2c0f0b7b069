import { describe, expect, it } from "vitest";
import { shared } from "../../../test/support/shared.js";
import { electionCost } from "../src/election-cost.js";
import { CliWorld } from "./support.js";

const world = await shared(CliWorld.start());

describe("holdfast cost", () => {
  it("prints the result of electionCost() without requests", async () => {
    const before = world.requests;
    const words = ["cost", "--instances", "2", "--lease", "60s", "--renew", "20s"];
    const { status, stdout } = await world.run([...words, "--standby-poll", "30s", "--json"]);
    const said = electionCost({ instances: 2, lease: "60s", renew: "20s", poll: "30s" });
    expect([status, JSON.parse(stdout)]).toEqual([0, said]);
    expect(world.requests).toBe(before);
  });

  it("prints the cost for people, with the prices used", async () => {
    const { stdout } = await world.run(["cost"]);
    expect(stdout).toContain("0.20 USD (us-east-1, on demand, since 2024-11-01)");
    const own = await world.run(["cost", "--write-price", "0", "--read-price", "0"]);
    expect(own.stdout).toContain("a month    0.00 USD (as given)");
  });

  it("refuses values that are not numbers", async () => {
    for (const words of [
      ["--instances", "1.5"],
      ["--write-price", "x"],
      ["--lease", "1"],
    ]) {
      expect(await world.run(["cost", ...words])).toMatchObject({ status: 64 });
    }
  });
});
