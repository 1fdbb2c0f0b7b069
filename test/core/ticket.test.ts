import { describe, expect, it } from "vitest";
import type { Cancelling } from "../../src/core/acquire/cancellation.js";
import type { AcquireContext } from "../../src/core/acquire/context.js";
import type { AcquireSettings } from "../../src/core/acquire/settings.js";
import { takeTicket } from "../../src/core/queue/ticket.js";
import type { RecordRef } from "../../src/core/record/format.js";
import { Abort } from "../../src/platform/abort.js";

const REF = { name: "a", id: "a", kind: "lock" } as RecordRef;

interface Shown {
  readonly kind?: "applied" | "refused";
  readonly state?: "free" | "absent";
  readonly tail?: bigint;
  readonly served?: bigint;
}

/** Takes a ticket from a record that the table shows in these states, one after each write. */
async function take(shown: readonly Shown[], hasQueue = true) {
  const sent: unknown[] = [];
  const queue = {
    take: () => "take",
    raise: (_: RecordRef, to: bigint) => `raise to ${to}`,
  };
  const context = {
    format: { name: "native", queue: hasQueue ? queue : undefined },
    settings: { requestTimeoutMs: 1_000 },
    random: { fraction: () => 0.5 },
    wallMs: () => 0,
    fenceSeed: () => 0n,
    write: async (write: unknown) => {
      sent.push(write);
      const record = shown[sent.length - 1] ?? {};
      return { kind: record.kind ?? "applied", record };
    },
    seeRecord: (_: RecordRef, { record }: { readonly record: Shown }) => ({
      state: record.state ?? "free",
      queue: { tail: record.tail, served: record.served },
    }),
    sleep: async () => undefined,
    jittered: (lengthMs: number) => lengthMs,
  } as unknown as AcquireContext;
  const abort = new Abort();
  const cancellation = {
    signal: abort,
    isStopped: false,
    onResponse: () => undefined,
  } as unknown as Cancelling;
  const settings = { minPollMs: 10, waitMs: 1_000 } as AcquireSettings;
  return { ticket: await takeTicket(context, REF, settings, cancellation), sent };
}

describe("a ticket", () => {
  it("is the next number of the counter, in one write", async () => {
    expect(await take([{ tail: 5n, served: 4n }])).toEqual({ ticket: 5n, sent: ["take"] });
    expect(await take([{ tail: 5n }])).toEqual({ ticket: 5n, sent: ["take"] });
  });

  it("is above the last granted ticket, also if the counter has reached exactly that ticket", async () => {
    for (const tail of [2n, 7n]) {
      const taken = await take([
        { tail, served: 7n },
        { tail: 8n, served: 7n },
      ]);
      expect(taken).toEqual({ ticket: 8n, sent: ["take", "raise to 8"] });
    }
  });

  it("is not taken from a refusal", async () => {
    const taken = await take([
      { kind: "refused", tail: 5n, served: 4n },
      { tail: 6n, served: 4n },
    ]);
    expect(taken).toEqual({ ticket: 6n, sent: ["take", "take"] });
  });

  it("is none if the record is absent", async () => {
    expect(await take([{ state: "absent" }])).toEqual({ ticket: undefined, sent: ["take"] });
  });

  it("is none, without a write, in a format without a queue", async () => {
    expect(await take([], false)).toEqual({ ticket: undefined, sent: [] });
  });
});
