import { readdirSync, readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";

interface RecordedRequest {
  readonly operation: string;
  readonly request: {
    readonly ConditionExpression?: string;
    readonly UpdateExpression?: string;
    readonly ExpressionAttributeNames?: Readonly<Record<string, string>>;
  };
}

type Item = Readonly<Record<string, Readonly<Record<string, unknown>>>> | null;

interface Vectors {
  readonly format: string;
  readonly client: string;
  readonly version: string;
  readonly recorded: string;
  readonly scenes: readonly {
    readonly state: string;
    readonly steps: readonly {
      readonly requests: readonly RecordedRequest[];
      readonly item: Item;
    }[];
  }[];
}

const folder = (path: string): string =>
  fileURLToPath(new URL(`../../spec/${path}`, import.meta.url));

/** Formats without recordings of another lock client; `packages/formats/test` tests them directly. */
const OTHERS = ["native", "object-commit"];

const formats = readdirSync(folder("formats"))
  .map((file) => file.replace(/\.md$/, ""))
  .filter((format) => !OTHERS.includes(format));

/** The caller's own attributes in the recordings; the pages call them "others". */
const ADDITIONAL = new Set(["team", "shards"]);

function pageOf(format: string) {
  const text = readFileSync(folder(`formats/${format}.md`), "utf8");
  const rowsOf = (heading: string): string[][] => {
    const section = text.split(/^## /m).find((part) => part.startsWith(`${heading}\n`)) ?? "";
    const lines = section.split("\n").filter((line) => line.startsWith("|"));
    return lines.slice(2).map((line) =>
      line
        .split("|")
        .slice(1, -1)
        .map((cell) => cell.trim()),
    );
  };
  return { text, rowsOf };
}

function vectorsOf(format: string): Vectors {
  return JSON.parse(readFileSync(folder(`vectors/${format}.json`), "utf8"));
}

/** Renders an expression with its names, without its values, and with readable spaces. */
function readable(text: string | undefined, names: Readonly<Record<string, string>> = {}): string {
  return (text ?? "")
    .replace(/#\w+/g, (placeholder) => names[placeholder] ?? placeholder)
    .replace(/:\w+/g, "?")
    .replace(/exists \(/g, "exists(")
    .replace(/\s+/g, " ")
    .trim();
}

/** Every kind of write in the scenes: operation, condition, change. */
function writesOf(scenes: Vectors["scenes"]): string[][] {
  return scenes.flatMap(({ steps }) =>
    steps.flatMap(({ requests }) =>
      requests
        .filter(({ request }) => request.ConditionExpression !== undefined)
        .map(({ operation, request }) => {
          const names = request.ExpressionAttributeNames;
          const condition = readable(request.ConditionExpression, names);
          return [operation, condition, readable(request.UpdateExpression, names)];
        }),
    ),
  );
}

/** The scenes that a cell names, each in quotes. */
const scenesIn = (cell = ""): string[] =>
  [...cell.matchAll(/"([^"]+)"/g)].map(([, one = ""]) => one);
const inCode = (cell = ""): string => /^`(.+)`$/.exec(cell)?.[1] ?? "";

describe.each(formats)("spec/formats/%s.md", (format) => {
  const { text, rowsOf } = pageOf(format);
  const { scenes, client, version, ...vectors } = vectorsOf(format);
  const states = scenes.map(({ state }) => state);

  it("names the recorded client and its version; the vectors also have the date", () => {
    expect(vectors.format).toBe(format);
    expect(text).toContain(`\`${client}\` ${version} `);
    expect(vectors.recorded).toMatch(/^20\d\d-\d\d-\d\d$/);
  });

  it("lists the attributes of the items in the vectors, with their types", () => {
    const rows = rowsOf("The item").filter(([name]) => name !== "others");
    const listed = rows.map(([name, type]) => `${inCode(name)} ${type}`);
    // The recorder itself wrote the items of the scenes "found", often as no client would.
    const written = scenes.filter(({ state }) => !state.startsWith("found: "));
    const items = written.flatMap(({ steps }) => steps.map(({ item }) => item ?? {}));
    const seen = items.flatMap((item) =>
      Object.entries(item)
        .filter(([name]) => !ADDITIONAL.has(name))
        .map(([name, value]) => `${name} ${Object.keys(value)[0]}`),
    );
    expect([...new Set(seen)].sort()).toEqual(listed.sort());
  });

  it("shows every write as recorded in the named scene", () => {
    const rows = rowsOf("Every write");
    expect(rows.length).toBeGreaterThan(1);
    for (const [step, operation, condition, change, where] of rows) {
      const named = scenesIn(where);
      expect(named, step).not.toEqual([]);
      // A put has no update expression; the page describes its content in words.
      const write = [
        operation,
        inCode(condition),
        operation === "UpdateItem" ? inCode(change) : "",
      ];
      for (const name of named) {
        const scene = scenes.filter(({ state }) => state === name);
        expect(writesOf(scene), `${step}: ${name}`).toContainEqual(write);
      }
    }
  });

  it("lists every recorded condition", () => {
    const listed = rowsOf("Every write").map(
      ([, operation, condition]) => `${operation} ${inCode(condition)}`,
    );
    const seen = writesOf(scenes).map(([operation, condition]) => `${operation} ${condition}`);
    expect([...new Set(seen)].filter((one) => !listed.includes(one))).toEqual([]);
  });

  it("numbers its rules, and names existing scenes or the source for each", () => {
    const rows = rowsOf("Rules");
    expect(rows.map(([number]) => Number(number))).toEqual(rows.map((_, index) => index + 1));
    const places = rows.map(([, , where = ""]) => where).filter((where) => where !== "source");
    expect(places.filter((where) => scenesIn(where).length === 0)).toEqual([]);
    expect(places.flatMap(scenesIn).filter((name) => !states.includes(name))).toEqual([]);
  });

  it("uses every recorded scene", () => {
    const used = [...rowsOf("Every write"), ...rowsOf("Rules")].flatMap((row) =>
      scenesIn(row.at(-1)),
    );
    expect(states.filter((state) => !used.includes(state))).toEqual([]);
  });

  it("names the protocol rules that the format cannot keep, and the consequences", () => {
    const rows = rowsOf("What of R1 to R14 cannot be kept");
    expect(rows.length).toBeGreaterThan(0);
    for (const [rules = "", why, lost] of rows) {
      expect(rules).toMatch(/^R\d+(, R\d+)*$/);
      expect(why).not.toBe("");
      expect(lost).not.toBe("");
    }
  });
});

describe("spec/vectors", () => {
  it("has a page for every foreign format, and vectors for every page", () => {
    const recorded = readdirSync(folder("vectors"))
      .map((file) => file.replace(/\.json$/, ""))
      .filter((format) => !OTHERS.includes(format));
    expect(recorded.sort()).toEqual([...formats].sort());
  });
});
