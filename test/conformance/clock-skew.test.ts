import { once } from "node:events";
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterEach, describe, expect, it } from "vitest";
import { Holdfast, inspect, mutex } from "../../packages/holdfast/src/index.js";
import { systemClock } from "../../packages/holdfast/src/platform/clock.js";
import { createTable } from "../../packages/holdfast/src/table/index.js";
import {
  type MemoryServer,
  startMemoryServer,
} from "../../packages/testing/src/dynamodb/server.js";
import { freshTable, sdkClient } from "../support/sdk.js";
import { WAYS } from "../support/ways.js";

const DAY_MS = 24 * 3_600_000;
const MOST_SKEW_MS = 15 * 60_000;

/**
 * A server with a clock `aheadMs` ahead of this machine's clock. Refuses signatures 15 minutes off, as DynamoDB
 * does.
 */
class SkewedServer {
  /** The operations refused for their signature, and the accepted operations. */
  readonly refused: string[] = [];
  readonly let: string[] = [];
  readonly #aheadMs: number;
  #memory: MemoryServer | undefined;
  #front: Server | undefined;

  constructor(aheadMs: number) {
    this.#aheadMs = aheadMs;
  }

  nowMs(): number {
    return systemClock.wallMs() + this.#aheadMs;
  }

  async start(): Promise<string> {
    const clock = { ...systemClock, wallMs: () => this.nowMs() };
    this.#memory = await startMemoryServer({ clock });
    const { endpoint } = this.#memory;
    this.#front = createServer(async (request, response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      const operation = String(request.headers["x-amz-target"]).split(".")[1] ?? "";
      const date = new Date(this.nowMs()).toUTCString();
      const type = { "content-type": "application/x-amz-json-1.0" };
      const signed = String(request.headers["x-amz-date"]);
      if (Math.abs(epochMsOf(signed) - this.nowMs()) > MOST_SKEW_MS) {
        this.refused.push(operation);
        const isEarly = epochMsOf(signed) < this.nowMs();
        const message = isEarly
          ? `Signature expired: ${signed} is now earlier than the least time that is taken.`
          : `Signature not yet current: ${signed} is still later than the time.`;
        response.writeHead(400, { date, ...type });
        const __type = "com.amazon.coral.service#InvalidSignatureException";
        response.end(JSON.stringify({ __type, message }));
        return;
      }
      this.let.push(operation);
      const headers = { ...type, "x-amz-target": String(request.headers["x-amz-target"]) };
      const answer = await fetch(endpoint, {
        method: "POST",
        headers,
        body: Buffer.concat(chunks),
      });
      response.writeHead(answer.status, { date, ...type });
      response.end(Buffer.from(await answer.arrayBuffer()));
    });
    await once(this.#front.listen(0, "127.0.0.1"), "listening");
    return `http://127.0.0.1:${(this.#front.address() as AddressInfo).port}`;
  }

  async close(): Promise<void> {
    this.#front?.closeAllConnections();
    this.#front?.close();
    await this.#memory?.close();
  }
}

/** `20260101T000000Z` */
function epochMsOf(signed: string): number {
  return Date.parse(
    signed.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, "$1-$2-$3T$4:$5:$6Z"),
  );
}

const ends: (() => unknown)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
});

describe.each(WAYS)("the first claim of a process $way", ({ over }) => {
  it.each([
    ["30 days behind", 30 * DAY_MS],
    ["30 days ahead", -30 * DAY_MS],
  ])("takes the fence from the table's time if the process's clock is %s", async (_, aheadMs) => {
    const server = new SkewedServer(aheadMs);
    const endpoint = await server.start();
    ends.push(() => server.close());
    const table = freshTable();
    const maker = sdkClient(endpoint, { systemClockOffset: aheadMs });
    await createTable({ client: maker, table });
    maker.destroy();
    const [refused, let_] = [server.refused.length, server.let.length];
    const client = sdkClient(endpoint);
    ends.push(() => client.destroy());
    const locks = new Holdfast({ client: over(client), table });
    ends.push(() => locks.close());
    const lease = await mutex(locks, "a").acquire();
    expect(Math.abs(Number(lease.fence) - server.nowMs())).toBeLessThan(60_000);
    const { acquiredAt } = (await inspect(locks, "a")) as { acquiredAt?: string };
    expect(Math.abs(Date.parse(String(acquiredAt)) - server.nowMs())).toBeLessThan(60_000);
    // A refused request, and no request beyond the usual acquisition and inspection.
    expect(server.refused.slice(refused)).toEqual(["UpdateItem"]);
    expect(server.let.slice(let_)).toEqual(["UpdateItem", "GetItem"]);
  });
});
