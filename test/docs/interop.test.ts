import { describe, expect, it } from "vitest";
import { textOf } from "../house/source.js";
import { FORMATS } from "../interop/formats.js";
import { SCENES, type SceneName } from "../interop/scenes.js";
import { type Played, tableIn, tableOf, withTable } from "../interop/table.js";

const page = textOf("test/interop/results.md");
const { clients, rows } = tableIn(page);
const cells = [...rows.values()].flat();

/** Scenes with a single run for both sides; each other scene runs in both directions. */
const ONCE: readonly SceneName[] = [
  "contention",
  "lostClaim",
  "lostTakeover",
  "lostRenewal",
  "lostRelease",
];
const DIRECTIONS = ["theirs hold and ours wait", "ours hold and theirs wait"];

/** The file that pins the client's version, for each language. */
const PINS: Readonly<Record<string, string>> = {
  java: "java/pom.xml",
  go: "go/go.mod",
  rust: "rust/dynamodb-lease/Cargo.toml",
  javascript: "javascript/package.json",
};

/** The drivers in the table of the README, each as `format`: `client` version. */
const drivers = [
  ...textOf("test/interop/README.md").matchAll(
    /^\| (`[^|]+`) \| (`[\w./:-]+`)[^|]* \| (v?\d[\w.]+) \| `(\w+)`/gm,
  ),
].flatMap(([, formats = "", client, version = "", language = ""]) =>
  formats.split(", ").map((format) => ({
    shown: `${format}: ${client} ${version}`,
    isPinned: textOf(`test/interop/${PINS[language]}`).includes(version),
  })),
);

describe("test/interop/results.md", () => {
  it("has a column for every client, in the version of its driver", () => {
    const built = drivers.filter(({ isPinned }) => isPinned).map(({ shown }) => shown);
    expect(clients.filter((client) => !built.includes(client))).toEqual([]);
    const formats = clients.map((client) => client.split(":")[0]);
    expect(formats).toEqual(FORMATS.map(({ format }) => `\`${format}\``));
    expect(new Set(clients).size).toBe(clients.length);
  });

  it("has a row for every scene, in both directions, and for each request", () => {
    const scenes = Object.keys(SCENES).length - ONCE.length;
    const played = [...rows.keys()];
    const beginning = (words: string): number =>
      played.filter((row) => row.startsWith(words)).length;
    for (const direction of DIRECTIONS) {
      // Names of two parts have a separate scene with a sort key.
      expect(beginning(`${direction}: `)).toBe(scenes - 1);
      expect(beginning(`with a sort key: ${direction}: `)).toBeGreaterThan(1);
    }
    const others = DIRECTIONS.flatMap((one) => [one, `with a sort key: ${one}`]);
    const once = played.filter(
      (row) => ![...others, "requests", "besides"].some((words) => row.startsWith(`${words}: `)),
    );
    expect(once.length).toBe(ONCE.length);
    const costs = Object.keys(FORMATS[0]?.costs ?? {}).map((cost) => `requests: to ${cost}`);
    expect(costs.filter((row) => !rows.has(row))).toEqual([]);
  });

  it("comes from a full run: at least 200 grants of each contention", () => {
    expect(page).toMatch(/`npm run interop -- --full`:$/m);
    const contention =
      [...rows.values()].find((row) => row.some((cell) => /grants/.test(cell))) ?? [];
    const grants = contention.map((cell) => Number(/(\d+) grants/.exec(cell)?.[1]));
    expect(grants.filter((count) => !(count >= 200))).toEqual([]);
    expect(grants.length).toBe(clients.length);
  });

  it("shows no failure, and a reason for every omission", () => {
    expect(cells.length).toBe(clients.length * rows.size);
    expect(cells.filter((cell) => !/^(passed\b|not asked \()/.test(cell))).toEqual([]);
    const letters = cells.flatMap((cell) =>
      /\(([a-z](?:, [a-z])*)\)$/.exec(cell)?.[1]?.split(", "),
    );
    const unsaid = letters.filter((one) => one && !page.includes(`\n- ${one}: `));
    expect(unsaid).toEqual([]);
  });
});

describe("the table of results", () => {
  const played = (more: Partial<Played>): Played => ({
    ...{ format: "dynamolock", driver: "dynamolock", row: "requests: to renew" },
    ...{ client: "`go` v1", leftOut: [], outcome: "passed" },
    ...more,
  });

  it("shows failures, measurements and omissions", () => {
    const other = {
      format: "dynamodb-lease",
      driver: "dynamodb-lease",
      client: "`rust` 2",
    } as const;
    const text = tableOf([
      played({ figure: "theirs GetItem; ours PutItem" }),
      played({ row: "held", outcome: "failed" }),
      played({ ...other, outcome: "not asked", why: "no beats by hand" }),
      played({ ...other, row: "held", leftOut: ["lists nothing"] }),
      played({ row: "with a sort key: held" }),
    ]);
    const there = withTable("<!-- interop: begin --><!-- interop: end -->", text);
    const shown = tableIn(there);
    expect(shown.clients).toEqual(["`dynamodb-lease`: `rust` 2", "`dynamolock`: `go` v1"]);
    expect([...shown.rows]).toEqual([
      ["requests: to renew", ["not asked (a)", "passed, theirs GetItem; ours PutItem"]],
      ["held", ["passed (b)", "**failed**"]],
      ["with a sort key: held", ["not asked (c)", "passed"]],
    ]);
    expect(text).toContain(
      "- a: no beats by hand\n- b: lists nothing\n- c: its names have one part",
    );
  });
});
