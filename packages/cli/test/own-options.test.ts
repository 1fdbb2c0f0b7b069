import { describe, expect, it } from "vitest";
import { shared } from "../../../test/support/shared.js";
import { CliWorld } from "./support.js";

const world = await shared(CliWorld.start());

const PUT = "object put k f --bucket b --region us-east-1 --strategy dynamo --table t --if-absent";

describe("an error about an argument", () => {
  it.each([
    [`${PUT} --timeout 1ms`, "--timeout must lie between"],
    ["cost --standby-poll 0s", "--standby-poll must lie between"],
    [
      "cost --standby-poll 1s --failover 9s",
      "--failover sets --lease, --renew and --standby-poll.",
    ],
    ["elect a --poll 1s --failover 9s -- true", "--failover sets --lease, --renew and --poll."],
    ["schedule a -- true", "schedule needs either --cron or --every."],
    ["schedule a --every 1m --cron * -- true", "schedule needs either --cron or --every."],
    ["schedule a --every 1m --time-zone UTC -- true", "--time-zone needs --cron."],
    [
      "schedule a --every 1m --catch-up all --overlap skip -- true",
      "--catch-up all passes over no instant: use --overlap wait with it.",
    ],
    ["schedule a --every 1500.5ms -- true", "--every and --offset must be whole milliseconds."],
    ["schedule a --cron 2026-01-01T00:00:00Z -- true", "An instant is no cron expression."],
    ["lock a --ring 1.2.3.4:99999 -- true", "The port of --ring must be a port"],
    ["lock a --ring nowhere:1 -- true", "The host of --ring must be an IP address"],
    ["diagnose --ring nowhere", "--ring must be addresses"],
    ["lock a --renew 40s -- true", "--lease (30000 ms) must be at least twice --renew (40000 ms)."],
    ["lock a --sort foo -- true", "--sort needs a table of another client"],
    ["lock a --fair --sk none -- true", "a table with a sort key. See --sk."],
    ["lock a --lease 5 -- true", "--lease must be a duration with its unit, such as 30s"],
  ])("names only options of its command: %s", async (line, said) => {
    const { status, stderr } = await world.run(line.split(" "));
    expect(status).toBe(64);
    expect(stderr).toContain(said);
    expect(stderr).not.toMatch(/`|\b(?:ring|diagnose)\(\)|\boption\b/);
    expect(stderr).toMatch(/^holdfast: [^\n]+\n$/);
  });

  it("keeps its code in an object with --json", async () => {
    const { stderr } = await world.run(["lock", "a", "--json", "--renew", "40s", "--", "true"]);
    expect(JSON.parse(stderr)).toMatchObject({ error: { code: "invalid-argument" } });
  });
});
