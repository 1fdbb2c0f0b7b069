import { describe, expect, it } from "vitest";
import { BROKEN, SOUND } from "../../verification/histories/broken.js";
import type { Operation } from "../../verification/histories/operations.js";
import { ednOf } from "../../verification/knossos/edn.js";

const OF_LOCK = { name: "a", client: "p1", outcome: "ok", fence: "1" } as const;
const WRITE = { ...OF_LOCK, op: "write", register: "r", from: "" } as const;

interface Event {
  readonly index: number;
  readonly process: number;
  readonly type: string;
  readonly f: string;
  readonly value: string;
}

interface History {
  readonly model: string;
  readonly key: string;
  readonly events: readonly Event[];
}

function eventOf(line: string): Event {
  const found =
    /\{:index (?<index>\d+), :process (?<process>\d+), :type :(?<type>\w+), :f :(?<f>\w+), :value (?<value>.*), :client /.exec(
      line,
    );
  const { index, process, type = "", f = "", value = "" } = found?.groups ?? {};
  return { index: Number(index), process: Number(process), type, f, value };
}

function historiesOf(operations: readonly Operation[]): History[] {
  const parts = ednOf(operations).split(/^\{:model /m);
  return parts.slice(1).map((part) => {
    const { model = "", key = "" } = /^:(?<model>\w+), :key "(?<key>.*)"/.exec(part)?.groups ?? {};
    const lines = part.split("\n").filter((line) => line.startsWith("  {:index"));
    return { model, key, events: lines.map(eventOf) };
  });
}

const shortOf = ({ events }: History): string[] =>
  events.map(({ process, type, f, value }) => `${process} ${type} ${f} ${value}`);

function firstOf(operations: readonly Operation[], model: string): string[] {
  const found = historiesOf(operations).find((one) => one.model === model);
  return found === undefined ? [] : shortOf(found);
}

describe("the EDN of a history", () => {
  it("has a history for each lock, and for each register with the records of its lock", () => {
    const record = { ...OF_LOCK, op: "record", call: 0, return: 1 } as const;
    const operations: Operation[] = [
      record,
      { ...record, name: "b" },
      { ...WRITE, to: "x", call: 2, return: 3 },
      { ...WRITE, register: "s", to: "y", call: 4, return: 5 },
    ];
    const found = historiesOf(operations).map(
      (one) => `${one.model} ${one.key}: ${one.events.map(({ f }) => f).join(" ")}`,
    );
    expect(found).toEqual([
      "lock a: record record",
      "lock b: record record",
      "register a r: record record write write",
      "register a s: record record write write",
    ]);
  });

  it.each([
    ["sound", SOUND] as const,
    ...BROKEN.map((one) => [one.reason, one.operations] as const),
  ])("gives each process one call at a time, and none after an :info: %s", (_, operations) => {
    for (const { events } of historiesOf(operations)) {
      expect(events.map(({ index }) => index)).toEqual(events.map((__, at) => at));
      const typesOf = new Map<number, string[]>();
      for (const { process, type } of events) {
        typesOf.set(process, [...(typesOf.get(process) ?? []), type]);
      }
      expect(typesOf.size).toBeGreaterThan(0);
      for (const types of typesOf.values()) {
        expect(types.join(" ")).toMatch(/^(?:invoke (?:ok|fail) ?)*(?:invoke info)?$/);
      }
    }
  });

  it("calls a refused operation :fail, and an operation with an unknown outcome :info", () => {
    const operations: Operation[] = [
      { name: "a", client: "p1", op: "acquire", outcome: "none", call: 0, return: 1 },
      { ...WRITE, outcome: "refused", to: "x", call: 2, return: 3 },
      { ...WRITE, outcome: "unknown", to: "y", call: 4 },
      { ...OF_LOCK, op: "read", register: "r", to: "y", call: 6, return: 7 },
    ];
    expect(firstOf(operations, "lock")).toEqual(["0 invoke acquire nil", "0 fail acquire nil"]);
    expect(firstOf(operations, "register")).toEqual([
      '0 invoke write {:fence 1, :from "", :to "x"}',
      '0 fail write {:fence 1, :from "", :to "x"}',
      '0 invoke write {:fence 1, :from "", :to "y"}',
      '1 invoke read "y"',
      '1 ok read "y"',
      '0 info write {:fence 1, :from "", :to "y"}',
    ]);
  });

  it("leaves out a write with an unknown outcome whose value nothing shows", () => {
    const write = { ...WRITE, outcome: "unknown", call: 0 } as const;
    const operations: Operation[] = [
      { ...write, to: "x" },
      { ...write, from: undefined, call: 2 },
      { ...OF_LOCK, op: "read", register: "r", to: "", call: 4, return: 5 },
    ] as Operation[];
    expect(firstOf(operations, "register")).toEqual(['0 invoke read ""', '0 ok read ""']);
  });

  it("lets a lease expire after it was last held if no client told its end", () => {
    const acquire = { ...OF_LOCK, op: "acquire", call: 0, return: 1 } as const;
    const held = { ...OF_LOCK, op: "held", call: 2, return: 3 } as const;
    const events = ["0 invoke acquire 1", "0 ok acquire 1", "0 invoke held 1", "0 ok held 1"];
    expect(firstOf([acquire, held], "lock")).toEqual([
      ...events,
      "0 invoke expire 1",
      "0 info expire 1",
    ]);
    const release = { ...OF_LOCK, op: "release", call: 4, return: 5 } as const;
    expect(firstOf([acquire, held, release], "lock")).toEqual([
      ...events,
      "0 invoke release 1",
      "0 ok release 1",
    ]);
  });

  it("has calls before returns of the same time", () => {
    const held = { ...OF_LOCK, op: "held" } as const;
    const operations: Operation[] = [
      { ...held, call: 0, return: 2 },
      { ...held, op: "release", call: 2, return: 2 },
    ];
    expect(firstOf(operations, "lock")).toEqual([
      "0 invoke held 1",
      "1 invoke release 1",
      "0 ok held 1",
      "1 ok release 1",
    ]);
  });

  it("escapes strings", () => {
    const read = { name: "a", client: "end", op: "read", register: "r", outcome: "ok" } as const;
    expect(firstOf([{ ...read, to: 'a"\n', call: 0, return: 1 }], "register")).toEqual([
      String.raw`0 invoke read "a\"\n"`,
      String.raw`0 ok read "a\"\n"`,
    ]);
  });
});
