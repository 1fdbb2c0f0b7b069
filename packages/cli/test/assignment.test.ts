import { describe, expect, it } from "vitest";
import { shared } from "../../../test/support/shared.js";
import { assign } from "../../holdfast/src/assign/index.js";
import { Holdfast } from "../../holdfast/src/index.js";
import { CliWorld } from "./support.js";

const world = await shared(CliWorld.start());

const run = (_: string, { signal }: { readonly signal: AbortSignal }): Promise<void> =>
  new Promise((resolve) => signal.addEventListener("abort", () => resolve()));

describe("holdfast assignment", () => {
  it("shows the members, the names, who has what, and who should", async () => {
    const other = new Holdfast({ client: world.client, table: "locks" });
    const names = ["eu-1", "eu-2", "us-1", "us-2"];
    const options = { names, run, period: "1s" };
    const [one, two] = [
      assign(world.locks, "webhooks", { ...options, owner: "one" }),
      assign(other, "webhooks", { ...options, owner: "two" }),
    ];
    await Promise.all([one.start(), two.start()]);
    await expect
      .poll(async () => {
        const { stdout } = await world.run(["assignment", "webhooks", "--json"]);
        return JSON.parse(stdout).names;
      })
      .toEqual(
        names.map((name) => {
          const owner = one.mine.includes(name) ? "one" : "two";
          return { name, member: expect.any(String), owner, shouldBe: owner };
        }),
      );
    const { status, stdout, stderr } = await world.run(["assignment", "webhooks"]);
    expect(status).toBe(0);
    expect(stdout).toMatch(/one +alive +1 +2 +2$/m);
    expect(stdout).toMatch(/^eu-1 +(one +one|two +two)$/m);
    expect(stderr).toContain("2 members, 4 names.");
    await one.stop();
    await two.stop();
    await other.close();
    const after = JSON.parse((await world.run(["assignment", "webhooks", "--json"])).stdout);
    expect(after).toMatchObject({ members: [], isSharingKnown: false });
    expect(after.names.map(({ owner }: { owner?: string }) => owner)).toEqual(
      names.map(() => undefined),
    );
  });
});
