import { readFileSync } from "node:fs";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { checkLedger } from "../../src/cli/demo/ledger.js";
import { CliWorld } from "./support.js";

let world: CliWorld;
beforeAll(async () => {
  world = await CliWorld.start();
});
afterAll(() => world.close());

type Event = { readonly event: string; readonly [field: string]: unknown };

const eventsOf = (stdout: string): Event[] =>
  stdout
    .trimEnd()
    .split("\n")
    .map((line) => JSON.parse(line) as Event);

describe("holdfast demo", () => {
  it("shows a kill, a stall and an orderly ledger, on a table in memory", async () => {
    const startMs = performance.now();
    const { status, stdout, stderr } = await world.run(["demo"]);
    expect({ status, stderr }).toEqual({ status: 0, stderr: "" });
    expect(performance.now() - startMs).toBeLessThan(30_000);
    expect(stdout).toContain("KILLED (SIGKILL)");
    expect(stdout).toContain("STOPPED (SIGSTOP)");
    expect(stdout).toContain("HELD BACK");
    expect(stdout.match(/TOOK OVER/g)).toHaveLength(2);
    expect(stdout).toMatch(/\bin order\b/i);
    expect(stdout).not.toContain(world.server.endpoint);
  }, 40_000);

  it("fails with --break on a given table, and prints JSON", async () => {
    const { endpoint } = world.server;
    const words = ["demo", "--break", "--json", "--endpoint", endpoint, "--table", "demo"];
    const { status, stdout, stderr } = await world.run(words);
    expect(status).toBe(1);
    expect(JSON.parse(stderr)).toMatchObject({ error: { code: "demo-failed" } });
    const events = eventsOf(stdout);
    const named = (event: string): Event | undefined => events.find((one) => one.event === event);
    expect(named("taken over")?.["tookMs"]).toBeGreaterThan(500);
    expect(named("wrote late")).toBeDefined();
    const check = named("check");
    expect(check).toMatchObject({ ok: false });
    const text = readFileSync(String(check?.["ledger"]), "utf8");
    expect(checkLedger(text).problems).toEqual(check?.["problems"]);
  }, 40_000);
});
