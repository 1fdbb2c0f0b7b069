import "reflect-metadata";
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { setTimeout } from "node:timers/promises";
import { Controller, Get, Module } from "@nestjs/common";
import { NestFactory } from "@nestjs/core";
import Fastify from "fastify";
import { expect, it } from "vitest";
import { Holdfast, mutex } from "../../packages/holdfast/src/index.js";
import { HoldfastModule } from "../../packages/holdfast/src/nestjs/index.js";
import { startMemoryServer } from "../../packages/testing/src/dynamodb/server.js";
import { MemoryTable } from "../../packages/testing/src/index.js";
import { environmentFor, runTypeScript } from "../examples/run.js";
import { freshTable } from "../support/sdk.js";

// docs/http.md says that the servers of these frameworks close before the locks.

/** Work under a lock that is still held after the server began to close. */
const work = (locks: Holdfast) =>
  mutex(locks, "order/42").run(async (lease) => {
    await setTimeout(100);
    lease.assertHeld();
    return { billed: "42" };
  });

interface Application {
  readonly url: string;
  /** Resolves when the first request has begun. */
  readonly begun: Promise<unknown>;
  close(): Promise<void>;
}

const FRAMEWORKS: readonly [string, (locks: Holdfast) => Promise<Application>][] = [
  [
    "Fastify",
    async (locks) => {
      const app = Fastify();
      app.addHook("onClose", () => locks.close());
      app.get("/", () => work(locks));
      const url = await app.listen({ port: 0, host: "127.0.0.1" });
      return { url, begun: once(app.server, "request"), close: () => app.close() };
    },
  ],
  [
    "Nest",
    async (locks) => {
      class Orders {
        bill() {
          return work(locks);
        }
      }
      const bill = Object.getOwnPropertyDescriptor(Orders.prototype, "bill") as PropertyDescriptor;
      Get()(Orders.prototype, "bill", bill);
      Controller()(Orders);
      class Root {}
      Module({ imports: [HoldfastModule.forRoot(locks)], controllers: [Orders] })(Root);
      const app = await NestFactory.create(Root, { logger: ["error"] });
      await app.listen(0, "127.0.0.1");
      const begun = once(app.getHttpServer(), "request");
      return { url: await app.getUrl(), begun, close: () => app.close() };
    },
  ],
];

it.each(FRAMEWORKS)("%s closes the server before the locks", async (_, start) => {
  const locks = new Holdfast({ client: new MemoryTable(), table: "locks" });
  const { url, begun, close } = await start(locks);
  const answer = fetch(url, { headers: { connection: "close" } });
  await begun;
  await close();
  const { status } = await answer;
  expect(status).toBe(200);
  await expect(mutex(locks, "order/42").acquire()).rejects.toMatchObject({ code: "closed" });
});

// An example that ends the process when a lease is lost must let close() release all that the client holds.

const BEGIN = `
import { DynamoDBClient } from "@aws-sdk/client-dynamodb";
import { Holdfast, inspect, mutex, openSession } from "holdfast";
import { slot } from "holdfast/assign";
import { createTable } from "holdfast/table";
const client = new DynamoDBClient({});
const table = process.env["HOLDFAST_TABLE"] ?? "locks";
await createTable({ client, table });
const locks = new Holdfast({ client, table });
`;
const END = `
await locks.close();
const others = new Holdfast({ client, table });
console.log((await inspect(others, NAME)).state);
await others.close();
`;
const LISTENER =
  /^\w+\.signal\.addEventListener\("abort", \(\) => (?:process\.exit\(1\)|\{\n(?: .*\n)+\})\);/m;

it.each([
  ["assign.md", `const NAME = "a/0"; const worker = await slot(locks, "a", { of: 1 });`],
  [
    "sessions.md",
    `const NAME = "a"; const session = await openSession(locks); await mutex(locks, NAME, { session }).acquire();`,
  ],
])("the example of %s outlives close()", async (path, taken) => {
  const text = readFileSync(new URL(`../../docs/${path}`, import.meta.url), "utf8");
  const [listener = ""] = LISTENER.exec(text) ?? [];
  expect(listener).toContain("process.exit(1)");
  const server = await startMemoryServer();
  const program = `${BEGIN}${taken}\n${listener}\n${END}`;
  const ran = await runTypeScript(program, environmentFor(server.endpoint, freshTable()));
  await server.close();
  expect(ran).toEqual({ lines: ["free"], errors: "", code: 0 });
});
