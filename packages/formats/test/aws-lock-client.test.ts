import { readFileSync } from "node:fs";
import { describe, expect, it } from "vitest";
import type { Grant, LeaseFormat, Onto } from "../../holdfast/src/core/record/format.js";
import { compileWrite } from "../../holdfast/src/platform/dynamodb/expressions.js";
import type { AttributeValue, Item, Write } from "../../holdfast/src/platform/table.js";
import { holds } from "../../testing/src/table/interpret.js";
import { awsLockClient } from "../src/index.js";

type Json = Readonly<Record<string, unknown>>;

interface Step {
  readonly does: string;
  readonly answer: Json;
  readonly requests: readonly { readonly operation: string; readonly request: Json }[];
  readonly item: Json | null;
}

interface Scene {
  readonly state: string;
  readonly keys: { readonly partitionKey: string; readonly sortKey?: string };
  readonly steps: readonly Step[];
}

const FILE = new URL("../../../spec/vectors/aws-lock-client.json", import.meta.url);
const { scenes } = JSON.parse(readFileSync(FILE, "utf8")) as { readonly scenes: readonly Scene[] };

function formatOf({ keys }: Scene): LeaseFormat {
  const options = { partitionKeyName: keys.partitionKey, sortKeyName: keys.sortKey as string };
  return awsLockClient(options) as LeaseFormat;
}

/** An item as in a file: bytes in base64. */
function itemIn(json: Json | null): Item | undefined {
  if (json === null) return undefined;
  const values = Object.entries(json).map(([name, value]) => {
    const typed = value as AttributeValue & { readonly B?: unknown };
    return [name, typeof typed.B === "string" ? { B: Buffer.from(typed.B, "base64") } : typed];
  });
  return Object.fromEntries(values);
}

function steps(): [string, Scene, Step, number][] {
  return scenes.flatMap((scene) =>
    scene.steps.map((step, index): [string, Scene, Step, number] => [
      `${scene.state}, step ${index + 1}`,
      scene,
      step,
      index,
    ]),
  );
}

const seen = steps().filter(([state, , step]) => step.item !== null && !state.startsWith("found"));

describe("every item of the Java client", () => {
  it.each(seen)("is read with its content: %s", (_title, scene, { item }) => {
    const found = formatOf(scene).codec.read(itemIn(item));
    const text = (name: string): string | undefined =>
      (item as Record<string, { S?: string }>)[name]?.S;
    expect(found).toMatchObject({
      state: text("isReleased") === undefined ? "held" : "free",
      owner: text("ownerName"),
      version: text("recordVersionNumber"),
    });
    if (found.state === "held") expect(String(found.leaseMs)).toBe(text("leaseDuration"));
  });

  const told = seen.filter(([, , { does, answer }]) => does === "acquire" && answer["lock"]);
  it.each(told)(
    "has the data and attributes that the Java client returned to its caller: %s",
    (_title, scene, step) => {
      const lock = step.answer["lock"] as { data?: string; attributes: object };
      const found = formatOf(scene).codec.read(itemIn(step.item));
      if (found.state !== "held") throw new Error(found.state);
      // An update without data leaves the old data, which the Java client does not return.
      if (lock.data !== undefined)
        expect(Buffer.from(found.data as Uint8Array).toString()).toBe(lock.data);
      expect(found.attributes).toMatchObject(lock.attributes);
      expect(Object.keys(found.attributes ?? {})).not.toContain(scene.keys.sortKey);
    },
  );

  it("is reported if unreadable, without an exception", () => {
    const states = scenes
      .filter(({ state }) => state.startsWith("found: "))
      .map((scene) => [
        scene.state,
        formatOf(scene).codec.read(itemIn(scene.steps[0]?.item ?? null)).state,
      ]);
    expect(states).toEqual([
      ["found: a lease in Go's text", "foreign"],
      ["found: without a lease", "foreign"],
      ["found: released in a way of its own", "free"],
    ]);
  });
});

const GRANT: Grant = {
  holder: "me/11111111-1111-4111-8111-111111111111",
  leaseMs: 20_000,
  owner: "me",
  data: undefined,
  existingData: "replace",
  existingAttributes: "replace",
  wallMs: 0,
  acquiredAt: "",
  fenceSeed: 0n,
};
const HELD = { holder: GRANT.holder, fence: 0n };
const RENEWAL = { mark: "m", version: "v", leaseMs: 20_000, wallMs: 0 };

const plain = awsLockClient() as LeaseFormat;
const sorted = awsLockClient({ sortKeyName: "sort" }) as LeaseFormat;
const ref = plain.codec.refOf("lock", "a");
const sortedRef = sorted.codec.refOf("lock", ["a", "b"]);

function readable({ condition, change }: Write): string {
  const { text, names } = compileWrite(condition, change);
  return text.replace(/#\d+/g, (name) => names[name] ?? name).replace(/:\d+/g, "?");
}

/** The conditions of the Java client's writes, as in the format's specification. */
const theirs = new Set(
  scenes.flatMap((scene) =>
    scene.steps.flatMap(({ requests }) =>
      requests.map(({ request }) => {
        const names = (request["ExpressionAttributeNames"] ?? {}) as Record<string, string>;
        return String(request["ConditionExpression"] ?? "")
          .replace(/#\w+/g, (name) => names[name] ?? name)
          .replace(/:\w+/g, "?")
          .replace(/exists \(/g, "exists(")
          .replace(/^\((.*)\)$/, "$1");
      }),
    ),
  ),
);

const bare = (text: string): string => text.replace(/^\((.*)\)$/, "$1");

describe("conditions", () => {
  it.each([
    ["of an absent record", plain.lease.claim(ref, GRANT, { kind: "absent" })],
    [
      "of an absent record, with a sort key",
      sorted.lease.claim(sortedRef, GRANT, { kind: "absent" }),
    ],
    ["of a takeover", plain.lease.takeOver(ref, GRANT, { holder: "x", version: "v" })],
  ])("%s are the Java client's, to the letter", (_title, write) => {
    expect(theirs).toContain(bare(readable(write)));
  });

  it.each([
    [
      "a claim of an unseen record",
      plain.lease.claim(ref, GRANT, { kind: "blind" }),
      "attribute_not_exists(key) OR (attribute_exists(key) AND isReleased = ? AND attribute_exists(recordVersionNumber))",
    ],
    [
      "a claim of a record seen free",
      plain.lease.claim(ref, GRANT, { kind: "free", fence: 0n, version: "v" }),
      "attribute_exists(key) AND recordVersionNumber = ? AND attribute_exists(isReleased)",
    ],
    [
      "a renewal",
      plain.lease.renew(ref, HELD, RENEWAL),
      "attribute_exists(key) AND (recordVersionNumber = ? OR recordVersionNumber = ?) AND ownerName = ? AND attribute_not_exists(isReleased)",
    ],
    [
      "a release, with a sort key",
      sorted.lease.free(sortedRef, { known: HELD, maybe: [] }, freeing(true)),
      "attribute_exists(key) AND attribute_exists(sort) AND ownerName = ? AND attribute_not_exists(isReleased)",
    ],
  ])("of %s are as they are documented", (_title, write, expected) => {
    expect(bare(readable(write))).toBe(expected);
  });

  const ontos: readonly Onto[] = [
    { kind: "blind" },
    { kind: "existing" },
    { kind: "absent" },
    { kind: "free", fence: 0n, version: "88" },
  ];
  const held = seen.filter(([, , { item }]) => !("isReleased" in (item ?? {})));
  it.each(held)("of a claim never match a held record: %s", (_title, scene, { item }) => {
    const format = formatOf(scene);
    const name = scene.keys.sortKey === undefined ? "a" : (["a", "b"] as const);
    for (const onto of ontos) {
      const { condition } = format.lease.claim(format.codec.refOf("lock", name), GRANT, onto);
      expect(holds(condition, itemIn(item)), onto.kind).toBe(false);
    }
  });

  const free = seen.filter(([, , { item }]) => "isReleased" in (item ?? {}));
  it.each(free)("of a claim match a released record: %s", (_title, scene, { item }) => {
    const format = formatOf(scene);
    const name = scene.keys.sortKey === undefined ? "a" : (["a", "b"] as const);
    const found = format.codec.read(itemIn(item));
    if (found.state !== "free") throw new Error(found.state);
    for (const onto of [
      { kind: "blind" },
      { kind: "existing" },
      { kind: "free", fence: 0n, version: found.version },
    ] as const) {
      const { condition } = format.lease.claim(format.codec.refOf("lock", name), GRANT, onto);
      expect(holds(condition, itemIn(item)), onto.kind).toBe(true);
    }
  });
});

describe("a grant", () => {
  it("18. writes the exact attributes and types of the Java client's items", () => {
    const vector = scenes.find(({ state }) => state === "held, with data")?.steps[0]?.item ?? {};
    const grant = {
      ...GRANT,
      data: Buffer.from("x"),
      attributes: { team: s("a"), shards: n("1") },
    };
    const { change, as } = plain.lease.claim(ref, grant, { kind: "blind" });
    const types = (item: object) =>
      Object.entries(item).map(([name, value]) => `${name} ${Object.keys(value)[0]}`);
    expect(as).toBe("put");
    expect(types({ ...change.set, ...ref.key }).sort()).toEqual(types(vector).sort());
    expect(change.set["leaseDuration"]).toEqual({ S: "20000" });
    expect(change.set["recordVersionNumber"]).toEqual({
      S: expect.stringMatching(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/),
    });
  });

  it("24. is an update that removes isReleased if any part of the record is kept", () => {
    for (const keeps of [{ existingData: "keep" }, { existingAttributes: "keep" }] as const) {
      const write = plain.lease.takeOver(
        ref,
        { ...GRANT, ...keeps },
        { holder: "x", version: "v" },
      );
      expect(write.as).toBeUndefined();
      expect(write.change.remove).toContain("isReleased");
    }
  });

  it("is read back with the written content", () => {
    const grant = { ...GRANT, data: Buffer.from("x"), attributes: { team: s("a") } };
    const { change } = plain.lease.claim(ref, grant, { kind: "blind" });
    expect(plain.codec.read({ ...change.set, ...ref.key } as Item)).toMatchObject({
      state: "held",
      holder: GRANT.holder,
      leaseMs: 20_000,
      data: grant.data,
      attributes: grant.attributes,
    });
  });
});

function freeing(keepData: boolean) {
  return { keepData, lastHolder: "", wallMs: 0, mark: "m" };
}

function s(text: string): AttributeValue {
  return { S: text };
}

function n(text: string): AttributeValue {
  return { N: text };
}
