import "reflect-metadata";
import {
  type DynamicModule,
  type INestApplicationContext,
  Inject,
  Injectable,
  Module,
  type Provider,
} from "@nestjs/common";
import { NestFactory } from "@nestjs/core";
import { Cron, ScheduleModule } from "@nestjs/schedule";
import { afterEach, describe, expect, it } from "vitest";
import { pause, until } from "../../../cli/test/support.js";
import { MemoryTable } from "../../../testing/src/table/memory-table.js";
import { Holdfast, type HoldfastError, type Lease, mutex } from "../../src/index.js";
import {
  HOLDFAST,
  HoldfastModule,
  Once,
  type OnceMethodOptions,
  WithLock,
  type WithLockOptions,
} from "../../src/nestjs/index.js";
import { type ScheduledJob, schedule } from "../../src/schedule/index.js";

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
    await expect(mutex(locks, "x").acquire()).rejects.toMatchObject({ code: "closed" });
  });
});

/** Starts an application with these providers and a module. */
async function startWith(module: DynamicModule, ...providers: Provider[]) {
  class Application {}
  Module({ imports: [module], providers })(Application);
  const application = await NestFactory.createApplicationContext(Application, {
    logger: ["error"],
    abortOnError: false,
  });
  open.push(application);
  return application.init();
}

describe("the client of a Nest application", () => {
  it("is injected by the class and by the token", async () => {
    const locks = new Holdfast({ client: new MemoryTable(), table: "locks" });
    class Service {
      constructor(
        readonly byClass: Holdfast,
        readonly byToken: Holdfast,
      ) {}
    }
    Inject(Holdfast)(Service, undefined, 0);
    Inject(HOLDFAST)(Service, undefined, 1);
    const application = await startWith(HoldfastModule.forRoot(locks), Service);
    const { byClass, byToken } = application.get(Service);
    expect([byClass, byToken]).toEqual([locks, locks]);
  });

  it("is made by a factory with injected arguments, and closed with the application", async () => {
    class Config {
      readonly table = "from-config";
    }
    class ConfigModule {}
    Module({ providers: [Config], exports: [Config] })(ConfigModule);
    const made: Holdfast[] = [];
    const application = await startWith(
      HoldfastModule.forRootAsync({
        imports: [ConfigModule],
        inject: [Config],
        useFactory: async ({ table }: Config) => {
          const locks = new Holdfast({ client: new MemoryTable(), table });
          made.push(locks);
          return locks;
        },
      }),
    );
    const locks = application.get(Holdfast);
    expect(made).toEqual([locks]);
    await open.pop()?.close();
    await expect(mutex(locks, "x").acquire()).rejects.toMatchObject({ code: "closed" });
  });

  it("ends the start with the error of its factory", async () => {
    const useFactory = (): Holdfast => {
      throw new Error("no table is configured");
    };
    await expect(startWith(HoldfastModule.forRootAsync({ useFactory }))).rejects.toThrow(
      "no table is configured",
    );
  });

  it.each([undefined, { client: new MemoryTable(), table: "locks" }])(
    "is refused if it is no client, before a request needs it",
    async (none) => {
      const locks = none as unknown as Holdfast;
      const refused = expect.objectContaining({ code: "invalid-argument" });
      expect(() => HoldfastModule.forRoot(locks)).toThrowError(refused);
      const useFactory = () => locks;
      await expect(startWith(HoldfastModule.forRootAsync({ useFactory }))).rejects.toEqual(refused);
      expect(() => HoldfastModule.forRootAsync({} as never)).toThrowError(refused);
    },
  );
});

describe("decorators with wrong arguments", () => {
  // Nest's scheduler only logs what a method rejects with.
  it.each<[string, () => MethodDecorator]>([
    ["an unknown period", () => Once({ occurrence: { every: "1 fortnight" as never } })],
    ["no occurrence", () => Once({} as never)],
    ["the same text for all calls", () => Once({ occurrence: "2026" as never })],
    ["the same instant for all calls", () => Once({ occurrence: new Date(0) as never })],
    ["a wrong length", () => Once({ ...everySecond, atMostFor: "a minute" as never })],
    ["an empty task", () => Once({ ...everySecond, name: "" })],
    ["an empty lock", () => WithLock("")],
    ["no lock", () => WithLock(undefined as never)],
  ])("are refused when the class is defined: %s", (_, decorator) => {
    expect(decorator).toThrowError(expect.objectContaining({ code: "invalid-argument" }));
  });
});

describe("a schedule that a provider starts", () => {
  it("is retried, and ends with the application", async () => {
    const onError = (): void => undefined;
    const locks = new Holdfast({ client: new MemoryTable(), table: "locks", onError });
    const attempts: number[] = [];
    class Reports {
      readonly job: ScheduledJob;
      constructor(client: Holdfast) {
        const rule = { every: "1s", retries: 1, retryAfter: "100ms" } as const;
        this.job = schedule(client, "report", rule, ({ attempt }) => {
          attempts.push(attempt);
          if (attempt === 1) throw new Error("failed");
        });
      }
      onApplicationBootstrap(): void {
        this.job.start();
      }
    }
    Inject(Holdfast)(Reports, undefined, 0);
    const application = await startWith(HoldfastModule.forRoot(locks), Reports);
    const { job } = application.get(Reports);
    await until(() => job.health().lastSuccess !== undefined, "a second attempt succeeded");
    expect(attempts.slice(0, 2)).toEqual([1, 2]);
    await open.pop()?.close();
    const ran = attempts.length;
    await pause(1_500);
    expect(attempts.length).toBe(ran);
    expect(() => job.start()).toThrow("its client was closed");
  });
});

describe("the options of @WithLock", () => {
  it.each([
    { wait: "soon" },
    { wait: null },
    { lease: "a minute" },
    { renew: "1ms" },
    { poll: 5 },
    { poll: { min: "2s", max: "1s" } },
    { owner: 5 },
    { existingData: "x" },
  ])("are refused when the class is defined: %j", (options) => {
    expect(() => WithLock("a", options as never)).toThrowError(
      expect.objectContaining({ code: "invalid-argument" }),
    );
  });

  it.each<WithLockOptions>([
    { renew: "10m" },
    { lease: "200ms" },
    { lease: "30d", wait: { beyondLease: "5s" }, maxHold: "60d" },
    { poll: { min: "10s" } },
    { poll: { max: "5ms" } },
    { wait: Number.POSITIVE_INFINITY, owner: undefined },
  ])("may need those of the client: %j", (options) => {
    expect(() => WithLock("a", options)).not.toThrow();
  });
});

describe("a method with @WithLock", () => {
  class Orders {
    readonly shipped: string[] = [];
    running = 0;
    most = 0;
    async ship(order: string, lease?: Lease): Promise<string> {
      this.running += 1;
      this.most = Math.max(this.most, this.running);
      await pause(20);
      this.running -= 1;
      this.shipped.push(`${order} under ${lease?.name}`);
      return order;
    }
  }
  decorate(Orders.prototype, "ship", [
    WithLock((order: string) => `order/${order.split("-")[0]}`, { wait: "10s", fair: true }),
  ]);
  Injectable()(Orders);

  it("runs one call at a time for a name, with its arguments and the lease", async () => {
    const locks = new Holdfast({ client: new MemoryTable(), table: "locks" });
    const orders = (await startWith(HoldfastModule.forRoot(locks), Orders)).get(Orders);
    expect(await Promise.all(["7-a", "7-b"].map((order) => orders.ship(order)))).toEqual([
      "7-a",
      "7-b",
    ]);
    expect(orders).toMatchObject({ most: 1 });
    expect(orders.shipped).toEqual(["7-a under order/7", "7-b under order/7"]);
  });

  it("rejects after the wait if another client holds the lock", async () => {
    const client = new MemoryTable();
    const rival = new Holdfast({ client, table: "locks" });
    await mutex(rival, "order/8").acquire();
    class Impatient extends Orders {}
    Object.defineProperty(Impatient.prototype, "ship", {
      value: async (order: string) => order,
      writable: true,
    });
    decorate(Impatient.prototype, "ship", [WithLock("order/8", { wait: 0 })]);
    const locks = new Holdfast({ client, table: "locks" });
    const orders = (await startWith(HoldfastModule.forRoot(locks), Impatient)).get(Impatient);
    await expect(orders.ship("8")).rejects.toMatchObject({ code: "not-acquired" });
    await rival.close();
  });

  it("says in an object that Nest has not made where its client comes from", async () => {
    await expect(new Orders().ship("7")).rejects.toMatchObject({
      code: "invalid-argument",
      message: expect.stringMatching(/^This Orders has no client.*HoldfastModule/),
    });
  });

  it("is refused with an onBusy that is no function, when the class is defined", () => {
    expect(() => WithLock("order/8", { onBusy: "busy" as never })).toThrowError(
      expect.objectContaining({ code: "invalid-argument" }),
    );
  });

  it("has the outcome of onBusy if the lock is held, and keeps the errors of the method", async () => {
    const client = new MemoryTable();
    const rival = new Holdfast({ client, table: "locks" });
    const held = await mutex(rival, "order/8").acquire();
    class Billing {
      async bill(_order: string): Promise<unknown> {
        return mutex(rival, "other").acquire({ wait: 0 });
      }
    }
    const onBusy = ({ lockName }: HoldfastError, order: string) => {
      if (order === "9") throw new Error("try later");
      return `${lockName} is busy`;
    };
    decorate(Billing.prototype, "bill", [WithLock("order/8", { wait: 0, onBusy })]);
    Injectable()(Billing);
    const locks = new Holdfast({ client, table: "locks" });
    const billing = (await startWith(HoldfastModule.forRoot(locks), Billing)).get(Billing);
    expect(await billing.bill("8")).toBe("order/8 is busy");
    await expect(billing.bill("9")).rejects.toThrow("try later");
    await held.release();
    await mutex(rival, "other").acquire();
    await expect(billing.bill("8")).rejects.toMatchObject({
      ...{ code: "not-acquired", lockName: "other" },
    });
    await rival.close();
  });
});
