import { describe, expect, it } from "vitest";
import { LEASE_CHANNELS } from "../../../src/events/index.js";
import { everythingHappens, heardWhile } from "../../telemetry/everything.js";

describe("the events of a queue", () => {
  it("report each change of the position of a waiter, and the loss of the place", async () => {
    const { position, overslept } = LEASE_CHANNELS;
    const heard = await heardWhile([position, overslept], everythingHappens);
    const told = heard.map(({ channel, message }) => {
      const { owner, position: at, before } = message as Record<string, unknown>;
      return channel === overslept ? [owner, "overslept"] : [owner, before, at];
    });
    expect(told).toEqual([
      ["second", undefined, 0],
      ["third", undefined, 1],
      ["third", "overslept"],
      ["third", undefined, 1],
      ["third", 1, 0],
    ]);
    for (const { message } of heard) expect(message).toMatchObject({ kind: "lock", name: "q" });
  });
});
