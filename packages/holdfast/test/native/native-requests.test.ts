import { describe, expect, it } from "vitest";
import { changed, holds } from "../../../testing/src/table/interpret.js";
import { requireCapability } from "../../src/core/record/capability.js";
import type { Grant } from "../../src/core/record/format.js";
import type { HolderRequest } from "../../src/core/record/record.js";
import { NATIVE_KEYS, nativeFormat } from "../../src/native/native.js";
import { REQUESTS } from "../../src/native/native-requests.js";
import { forcedRequest } from "../../src/native/native-values.js";
import { compileWrite } from "../../src/platform/dynamodb/expressions.js";
import type { Item, Write } from "../../src/platform/table.js";

const format = nativeFormat(NATIVE_KEYS);
const requests = requireCapability(format, REQUESTS);
const ref = format.codec.refOf("leader", "a");

const GRANT: Grant = {
  holder: "first",
  leaseMs: 1_000,
  owner: "owner",
  data: undefined,
  existingData: "replace",
  existingAttributes: "replace",
  wallMs: 0,
  acquiredAt: "1970-01-01T00:00:00.000Z",
  fenceSeed: 0n,
};

const DETAILS = { by: "alice", reason: "it hangs", at: "1970-01-01T00:00:00.000Z", now: false };

const KINDS = ["prefer", "resign", "want", "interrupt", "release"] as const;

function requestOf(kind: HolderRequest["kind"], holder: string): HolderRequest {
  if (kind === "want" || kind === "interrupt") return { kind, holder, by: DETAILS.by };
  return kind === "release" ? { kind, holder, ...DETAILS } : { kind, holder };
}

/** The item after a write; the same item after a refused write. */
function written(item: Item | undefined, { key, condition, change }: Write): Item | undefined {
  return holds(condition, item) ? changed(key, change, item) : item;
}

function granted(holder: string, before?: Item): Item {
  const onto = { kind: "blind" } as const;
  return written(before, format.lease.claim(ref, { ...GRANT, holder }, onto)) as Item;
}

function released(item: Item, holder: string): Item {
  const options = { keepData: false, lastHolder: holder, wallMs: 0, mark: "" };
  return written(item, format.lease.free(ref, { maybe: [holder] }, options)) as Item;
}

function requestIn(item: Item | undefined): HolderRequest | undefined {
  const found = format.codec.read(item);
  return found.state === "held" || found.state === "free" ? found.request : undefined;
}

const meetings = KINDS.flatMap((first) => KINDS.map((second) => [first, second] as const));

describe("a request to a holder", () => {
  it.each(KINDS)("is read back as written: %s", (kind) => {
    const request = requestOf(kind, "first");
    expect(requestIn(written(granted("first"), requests.ask(ref, request)))).toEqual(request);
  });

  // rule: protocol 121
  it.each(meetings)(
    "replaces a request to the same holder if it is at least as strong: %s, then %s",
    (first, second) => {
      const item = written(granted("first"), requests.ask(ref, requestOf(first, "first")));
      const then = written(item, requests.ask(ref, requestOf(second, "first")));
      const isStronger = KINDS.indexOf(second) >= KINDS.indexOf(first);
      expect(requestIn(then)).toEqual(requestOf(isStronger ? second : first, "first"));
    },
  );

  it.each(meetings)("replaces every request to an earlier holder: %s, then %s", (first, second) => {
    const item = written(granted("first"), requests.ask(ref, requestOf(first, "first"))) as Item;
    const next = granted("second", released(item, "first"));
    expect(requestIn(next)).toEqual(requestOf(first, "first"));
    const then = written(next, requests.ask(ref, requestOf(second, "second")));
    expect(requestIn(then)).toEqual(requestOf(second, "second"));
  });

  it.each(meetings)(
    "does not affect a later holder if it lands late: %s, after %s",
    (late, second) => {
      const next = granted("second", released(granted("first"), "first"));
      const asked = written(next, requests.ask(ref, requestOf(second, "second")));
      for (const item of [next, asked]) {
        expect(written(item, requests.ask(ref, requestOf(late, "first")))).toBe(item);
      }
    },
  );

  // rule: protocol 122
  it("of an asker never lowers the number, not even by a late copy of its own", () => {
    const asked = (number: bigint, by: string) =>
      requests.ask(ref, requestOf("interrupt", "first"), { number, by });
    const first = written(granted("first"), asked(1n, "a")) as Item;
    const numbers = (item: Item | undefined) => [item?.["asked"], item?.["asker"]];
    expect(numbers(first)).toEqual([{ N: "1" }, { S: "a" }]);
    // Again by itself, but not by another with the same number.
    expect(numbers(written(first, asked(1n, "a")))).toEqual(numbers(first));
    expect(written(first, asked(1n, "b"))).toBe(first);
    const second = written(first, asked(2n, "b"));
    expect(numbers(second)).toEqual([{ N: "2" }, { S: "b" }]);
    expect(written(second, asked(1n, "b"))).toBe(second);
    expect(written(second, asked(1n, "a"))).toBe(second);
  });

  it.each(["prefer", "resign"] as const)("to %s changes nothing else in the record", (kind) => {
    const item = granted("first");
    const { request, ...rest } = written(item, requests.ask(ref, requestOf(kind, "first"))) as Item;
    expect(rest).toEqual(item);
    expect(request).toEqual({ M: { kind: { S: kind }, holder: { S: "first" } } });
  });

  it("replaces an attribute `request` of another type", () => {
    for (const request of [{ S: "x" }, { M: {} }]) {
      const item: Item = { ...granted("first"), request };
      expect(requestIn(item)).toBeUndefined();
      const then = written(item, requests.ask(ref, requestOf("prefer", "first")));
      expect(requestIn(then)).toEqual(requestOf("prefer", "first"));
    }
  });

  it("stays after an immediate forced release, with the note that the release was immediate", () => {
    const item = written(
      granted("first"),
      requests.ask(ref, requestOf("release", "first")),
    ) as Item;
    const forced = { holder: "first", ...DETAILS, now: true };
    const note = { forced: forcedRequest(forced) };
    const options = { keepData: true, lastHolder: "first", wallMs: 0, mark: "", ...note };
    const freed = written(item, format.lease.free(ref, { maybe: ["first"] }, options));
    expect(requestIn(freed)).toEqual({ kind: "release", ...forced });
  });

  it("excludes a stronger request to the same holder in one condition", () => {
    const { condition, change } = requests.ask(ref, requestOf("resign", "first"));
    expect(compileWrite(condition, change)).toMatchObject({
      text:
        "(#0 = :0 AND #1 = :1 AND (attribute_not_exists(#2) OR #2.#1 <> :1 OR #2.#3 = :2 OR " +
        "#2.#3 = :3))",
      update: "SET #2 = :4",
    });
  });
});
