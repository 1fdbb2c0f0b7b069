import type { Socket } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { lineServer } from "../../../../test/support/line-server.js";
import { MemoryTable } from "../../../testing/src/table/memory-table.js";
import { Holdfast, mutex } from "../../src/index.js";
import type { Timers } from "../../src/platform/timers.js";
import { onWanted } from "../../src/requests/index.js";
import { ring } from "../../src/ring/index.js";
import { type Endpoint, endpointIn } from "../../src/ring/options.js";
import { reach } from "../../src/ring/reach.js";
import { diagnose } from "../../src/table/index.js";
import { ringFindings, ringPlaces } from "../../src/table/rings.js";

const LOOPBACK = "127.0.0.1";
const open: { close(): unknown }[] = [];

afterEach(async () => {
  await Promise.all(open.splice(0).map((one) => one.close()));
});

async function server(onLine: (socket: Socket) => void): Promise<string> {
  const made = await lineServer(onLine);
  open.push(made);
  return `${LOOPBACK}:${made.port}`;
}

const found = async (...addresses: string[]) => ringFindings(ringPlaces(addresses));

describe("whether this machine can ring a client", () => {
  it("says that a client answers, and tells its holder of no waiter", async () => {
    const over = new MemoryTable({ keyAttributes: ["pk", "sk"] });
    const locks = new Holdfast({ client: over, table: "locks", ring: ring({ host: LOOPBACK }) });
    open.push(locks);
    const lease = await mutex(locks, "a").acquire();
    const wanted: unknown[] = [];
    onWanted(lease, (by) => wanted.push(by));
    const mark = over.item({ pk: { S: "lock#a" }, sk: { S: "lease" } })?.["ring"] as { S: string };
    const [, address = ""] = mark.S.split(" ");
    const [finding] = await found(address);
    expect(finding).toMatchObject({ check: "ring", level: "ok", code: undefined });
    expect(finding?.message).toBe(`${address} answers as a client with ring() does.`);
    expect(finding?.latencyMs).toBeGreaterThanOrEqual(0);
    expect(wanted).toEqual([]);
    await locks.close();
    open.pop();
    const [after] = await found(address);
    expect(after).toMatchObject({ level: "problem", code: "unreachable" });
    expect(after?.message).toContain("refuses connections");
  });

  it.each([
    [
      "closes at once, as a port mapping with nothing behind it",
      "closes",
      (line: Socket) => line.end(),
    ],
    ["speaks first", "another kind", (line: Socket) => line.write("SSH-2.0\r\n")],
    [
      "answers something else",
      "another kind",
      (line: Socket) => line.on("data", () => line.end("no")),
    ],
    ["accepts and hangs", "another kind", () => undefined],
  ] as const)("names a service that %s", async (_, words, onLine) => {
    const [finding] = await found(await server(onLine));
    expect(finding).toMatchObject({ check: "ring", level: "problem", code: "unreachable" });
    expect(finding?.message).toContain(words);
    expect(finding?.fix).toBeDefined();
  });

  // An address that no machine has: networks drop its packets, or refuse them.
  it("says within some seconds that it does not reach an address", async () => {
    const fromMs = performance.now();
    const findings = await found("192.0.2.1:9", "no-such-host.invalid:9");
    expect(findings).toMatchObject([
      { level: "problem", code: "unreachable", latencyMs: undefined },
      { level: "problem", code: "unreachable", latencyMs: undefined },
    ]);
    expect(performance.now() - fromMs).toBeLessThan(10_000);
  });

  it("gives an address up that does not answer in time", async () => {
    const endpoint = endpointIn(await server(() => undefined)) as Endpoint;
    const waited: number[] = [];
    const timers: Timers = {
      set: (delayMs, _, run) => {
        waited.push(delayMs);
        queueMicrotask(run);
        return { cancel: () => undefined };
      },
    };
    const silent = { reach: "silent", openedMs: undefined };
    expect(await reach(endpoint, timers, () => 0)).toEqual(silent);
    expect(waited).toEqual([2_000]);
  });

  it.each([["10.0.3.7"], ["local"], [":7420"], ["10.0.3.7:0"], [7420]])(
    "refuses %s",
    async (address) => {
      const client = new MemoryTable({ keyAttributes: ["pk", "sk"] }) as never;
      await expect(
        diagnose({ client, table: "locks", rings: [address as string] }),
      ).rejects.toMatchObject({ code: "invalid-argument" });
    },
  );
});
