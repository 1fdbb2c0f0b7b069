import { describe, expect, it } from "vitest";
import type { Cancelling } from "../../src/core/acquire/cancellation.js";
import type { AcquireContext } from "../../src/core/acquire/context.js";
import type { AcquireSettings } from "../../src/core/acquire/settings.js";
import { takeTickets } from "../../src/core/queue/ticket.js";
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
async function take(shown: readonly Shown[], { hasQueue = true, count = 1 } = {}) {
  const sent: unknown[] = [];
  const queue = {
    take: (_: RecordRef, asked: number) => (asked === 1 ? "take" : `take ${asked}`),
    raise: (_: RecordRef, to: bigint) => `raise to ${to}`,
  };
  const context = {
    unlessLasting: (given: object) => given,
    patient: (backoff: object) => backoff,
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
  const tickets = await takeTickets({ context, ref: REF, settings, cancellation }, count);
  return { ticket: tickets?.first, last: tickets?.last, sent };
}

describe("tickets", () => {
  it("are consecutive, in one write", async () => {
    const taken = await take([{ tail: 7n, served: 4n }], { count: 3 });
    expect(taken).toEqual({ ticket: 5n, last: 7n, sent: ["take 3"] });
  });

  it("are all above the last granted ticket", async () => {
    const shown = [
      { tail: 8n, served: 6n },
      { tail: 9n, served: 6n },
    ];
    const taken = await take(shown, { count: 3 });
    expect(taken).toEqual({ ticket: 7n, last: 9n, sent: ["take 3", "raise to 9"] });
  });
});

describe("a ticket", () => {
  it("is the next number of the counter, in one write", async () => {
    expect(await take([{ tail: 5n, served: 4n }])).toMatchObject({ ticket: 5n, sent: ["take"] });
    expect(await take([{ tail: 5n }])).toMatchObject({ ticket: 5n, sent: ["take"] });
  });

  it("is above the last granted ticket, also if the counter has reached exactly that ticket", async () => {
    for (const tail of [2n, 7n]) {
      const taken = await take([
        { tail, served: 7n },
        { tail: 8n, served: 7n },
      ]);
      expect(taken).toMatchObject({ ticket: 8n, sent: ["take", "raise to 8"] });
    }
  });

  it("is not taken from a refusal", async () => {
    const taken = await take([
      { kind: "refused", tail: 5n, served: 4n },
      { tail: 6n, served: 4n },
    ]);
    expect(taken).toMatchObject({ ticket: 6n, sent: ["take", "take"] });
  });

  it("is none if the record is absent", async () => {
    expect(await take([{ state: "absent" }])).toMatchObject({ ticket: undefined, sent: ["take"] });
  });

  it("is none, without a write, in a format without a queue", async () => {
    expect(await take([], { hasQueue: false })).toMatchObject({ ticket: undefined, sent: [] });
  });
});
