import { describe, expect, it } from "vitest";
import type { ClientContext } from "../../src/core/context.js";
import { Pacer } from "../../src/core/pacer.js";
import { Abort } from "../../src/platform/abort.js";

/** A pacer whose pauses are noted, and not slept. */
function pacer() {
  const pauses: number[] = [];
  const context = {
    jittered: (lengthMs: number) => lengthMs + 1,
    sleep: async (lengthMs: number) => {
      pauses.push(lengthMs);
    },
  } as unknown as ClientContext;
  const own = new Pacer(context, { minPollMs: 100 });
  const rounds = async (count: number) => {
    for (let round = 0; round < count; round += 1) await own.beforeNextRound(new Abort());
    return pauses.splice(0);
  };
  return { own, rounds };
}

describe("the rounds of a loop of requests", () => {
  it("are four without a pause, and then one after each shortest poll, with jitter", async () => {
    const { rounds } = pacer();
    expect(await rounds(4)).toEqual([]);
    expect(await rounds(1)).toEqual([101]);
    expect(await rounds(2)).toEqual([101, 101]);
  });

  it("are four without a pause again after a pause of the loop itself", async () => {
    const { own, rounds } = pacer();
    await rounds(6);
    own.paused();
    expect(await rounds(4)).toEqual([]);
    expect(await rounds(1)).toEqual([101]);
  });
});
