import "reflect-metadata";
import { type INestApplicationContext, Injectable, Module } from "@nestjs/common";
import { NestFactory } from "@nestjs/core";
import { Cron, ScheduleModule } from "@nestjs/schedule";
import { afterEach, describe, expect, it } from "vitest";
import { Holdfast } from "../../src/index.js";
import { HoldfastModule, Once, type OnceMethodOptions } from "../../src/nestjs/index.js";
import { MemoryTable } from "../../src/testing/table/memory-table.js";
import { pause, until } from "../cli/support.js";

interface Ran {
  readonly instance: string;
  readonly atMs: number;
  readonly args: readonly unknown[];
}

/** Applies method decorators as the compiler would for `@first @second method() {}`. */
function decorate(target: object, method: string, decorators: readonly MethodDecorator[]): void {
  const descriptor = Object.getOwnPropertyDescriptor(target, method) as PropertyDescriptor;
  const replaced = decorators.reduceRight<PropertyDescriptor>(
    (found, apply) => (apply(target, method, found) as PropertyDescriptor | undefined) ?? found,
    descriptor,
  );
  Object.defineProperty(target, method, replaced);
}

const everySecond: OnceMethodOptions = { occurrence: { every: "1s" }, atMostFor: "2s" };
const open: INestApplicationContext[] = [];
afterEach(async () => {
  await Promise.all(open.splice(0).map((application) => application.close()));
});

/** An instance of an application with a method that is scheduled every second. */
async function start(
  instance: string,
  table: MemoryTable,
  ran: Ran[],
  order: "above" | "beneath",
): Promise<Holdfast> {
  class Reports {
    async report(...args: unknown[]): Promise<string> {
      ran.push({ instance, atMs: performance.now(), args });
      await pause(20);
      return "done";
    }
  }
  const [cron, once] = [Cron("* * * * * *"), Once(everySecond)];
  decorate(Reports.prototype, "report", order === "beneath" ? [cron, once] : [once, cron]);
  Injectable()(Reports);
  const locks = new Holdfast({ client: table, table: "locks" });
  class Application {}
  Module({
    imports: [ScheduleModule.forRoot(), HoldfastModule.forRoot(locks)],
    providers: [Reports],
  })(Application);
  const application = await NestFactory.createApplicationContext(Application, {
    logger: ["error"],
  });
  open.push(application);
  await application.init();
  return locks;
}

describe("Nest applications with the same schedule", () => {
  it.each(["beneath", "above"] as const)(
    "run a method with @Once %s @Cron in a single instance at each occurrence",
    async (order) => {
      const table = new MemoryTable();
      const ran: Ran[] = [];
      const instances = ["a", "b", "c"];
      await Promise.all(instances.map((instance) => start(instance, table, ran, order)));
      await until(() => ran.length >= 4, "it ran four times");
      // The last run ends before its client is closed.
      await pause(100);
      await Promise.all(open.splice(0).map((application) => application.close()));
      const seconds = ran.map(({ atMs }) => atMs);
      const gaps = seconds.slice(1).map((atMs, at) => atMs - (seconds[at] ?? 0));
      // A single instance runs in each second: two runs of the same second would be milliseconds apart.
      expect(Math.min(...gaps)).toBeGreaterThan(300);
      expect(ran[0]?.args).toMatchObject([{ name: "Reports.report", signal: { aborted: false } }]);
    },
  );

  it("close the client with the application", async () => {
    const locks = await start("a", new MemoryTable(), [], "beneath");
    await open.pop()?.close();
    await expect(locks.mutex("x").acquire()).rejects.toMatchObject({ code: "closed" });
  });
});
