import { describe, expect, it } from "vitest";
import { expectThrown } from "../../../../test/support/errors.js";
import { local } from "../../../testing/src/index.js";
import { resolveThread } from "../../src/core/thread-options.js";
import { Holdfast, sharedSession } from "../../src/index.js";

const resolve = (asked: unknown) => resolveThread(asked as never, 30_000);
const MODULE = "file:///client.js";

describe("the option sharedSession", () => {
  it("starts no thread without `thread`", () => {
    expect(resolve(undefined)).toBeUndefined();
  });

  it("resolves the bound and the URLs", () => {
    const nothing = { module: undefined, worker: undefined };
    expect(resolve({ thread: true, mayBlock: "2m" })).toEqual({ mayBlockMs: 120_000, ...nothing });
    const urls = { module: new URL(MODULE), worker: MODULE };
    const resolved = { mayBlockMs: 30_000, module: MODULE, worker: MODULE };
    expect(resolve({ thread: urls, mayBlock: 30_000 })).toEqual(resolved);
  });

  it.each([
    [{ thread: true, mayBlock: 29_999 }, "sharedSession.mayBlock"],
    [{ thread: true }, "sharedSession.mayBlock"],
    [{ thread: false, mayBlock: "1m" }, "sharedSession.thread"],
    [{ mayBlock: "1m" }, "sharedSession.thread"],
    [{ thread: { module: "./client.js" }, mayBlock: "1m" }, "sharedSession.thread.module"],
    [{ thread: { file: MODULE }, mayBlock: "1m" }, "file"],
    [{ thread: true, mayBlock: "1m", bound: 1 }, "bound"],
    [null, "sharedSession"],
  ])("refuses %o", (asked, word) => {
    expectThrown(() => resolve(asked), { code: "invalid-argument", mentions: [word] });
  });

  it("needs a module for a client without a configuration, and real clocks", () => {
    const session = sharedSession({ thread: true, mayBlock: "1m" });
    const client = { send: () => Promise.reject(new Error("No request is sent.")) };
    expectThrown(() => new Holdfast({ client, table: "t", sharedSession: session } as never), {
      code: "invalid-argument",
      mentions: ["module"],
    });
    expectThrown(() => local({ sharedSession: session }), {
      code: "invalid-argument",
      mentions: ["module"],
    });
  });
});
