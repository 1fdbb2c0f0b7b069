import { describe, expect, it } from "vitest";
import { memoryServer } from "../../../../test/support/memory-server.js";
import { sdkClient } from "../../../../test/support/sdk.js";
import { Dates } from "../../src/table/dates.js";
import { createTable, diagnose, type Finding } from "../../src/table/index.js";

/** Which `Date`s `diagnose()` reports: the ends of leases are compared with them. */

const START_MS = Date.UTC(2026, 10, 23);
const httpDate = (ms: number): string => new Date(START_MS + ms).toUTCString();
const ofDates = (found: readonly Finding[]) => found.find(({ check }) => check === "date");

/** The finding after answers at these instants with these `Date`s, in milliseconds; each takes 100 ms. */
function findingAfter(answers: readonly (readonly [sentMs: number, dateMs: number | undefined])[]) {
  let nowMs = 0;
  const dates = new Dates({ wallMs: () => START_MS + nowMs, monotonicMs: () => nowMs });
  for (const [sentMs, dateMs] of answers) {
    nowMs = sentMs;
    dates.sending();
    nowMs += 100;
    dates.see(dateMs === undefined ? undefined : httpDate(dateMs));
  }
  return { finding: ofDates(dates.findings()), pauseMs: dates.pauseMs };
}

describe("the `Date`s of a diagnosis", () => {
  it.each([
    [
      "follow the time",
      "ok",
      [
        [0, 0],
        [2_100, 2_000],
      ],
    ],
    [
      "follow the time within their whole seconds",
      "ok",
      [
        [0, 0],
        [2_100, 3_000],
      ],
    ],
    [
      "come from servers that differ by 5 s",
      "ok",
      [
        [0, 0],
        [2_100, -3_000],
      ],
    ],
    [
      "fall behind by more than 5 s",
      "problem",
      [
        [0, 0],
        [20_000, 12_000],
      ],
    ],
    [
      "run ahead",
      "problem",
      [
        [0, 0],
        [2_100, 9_000],
      ],
    ],
    [
      "stand still for two seconds",
      "problem",
      [
        [0, 0],
        [1_000, 0],
        [2_100, 0],
      ],
    ],
    [
      "repeat within two seconds",
      "ok",
      [
        [0, 0],
        [1_900, 0],
      ],
    ],
    ["are missing", "warning", [[0, undefined]]],
    [
      "are missing in one answer",
      "warning",
      [
        [0, 0],
        [2_100, undefined],
      ],
    ],
  ] as const)("that %s are: %s", (_what, level, answers) => {
    expect(findingAfter(answers).finding).toMatchObject({ level });
  });

  it("are watched for two seconds, unless they move", () => {
    const pauseAfter = (dateMs: number) =>
      findingAfter([
        [0, 0],
        [1_500, dateMs],
      ]).pauseMs;
    // Longer than the two seconds that a `Date` must stand still, by what a timer may fire early.
    expect(findingAfter([[0, 0]]).pauseMs).toBe(2_020);
    expect([pauseAfter(0), pauseAfter(1_000)]).toEqual([520, 0]);
    expect(findingAfter([[0, undefined]]).pauseMs).toBe(0);
  });
});

describe("diagnose() behind a proxy", () => {
  const server = memoryServer();

  /** A client whose answers have the `Date` that `change` makes of the server's. */
  async function behind(change: (date: string) => string | undefined) {
    const client = sdkClient(server.endpoint);
    await createTable({ client, table: "locks" });
    const handler = client.config.requestHandler;
    const handle = handler.handle.bind(handler);
    handler.handle = async (...given) => {
      const answer = await handle(...given);
      const { date = "", ...headers } = answer.response.headers;
      const changed = change(date);
      answer.response.headers = changed === undefined ? headers : { ...headers, date: changed };
      return answer;
    };
    return client;
  }

  it.each([
    ["passes the `Date` on", (date: string) => date, "ok"],
    ["answers with one `Date` for ever", () => httpDate(0), "problem"],
    ["removes the `Date`", () => undefined, "warning"],
  ] as const)("that %s", async (_what, change, level) => {
    const client = await behind(change);
    const finding = ofDates(await diagnose({ client, table: "locks" }));
    client.destroy();
    expect(finding).toMatchObject({ level });
    if (level === "problem") expect(finding).toMatchObject({ code: "misconfigured" });
  });
});
