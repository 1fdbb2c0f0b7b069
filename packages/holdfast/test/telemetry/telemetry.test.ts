import { context, metrics, SpanStatusCode, trace } from "@opentelemetry/api";
import { AsyncLocalStorageContextManager } from "@opentelemetry/context-async-hooks";
import {
  AggregationTemporality,
  DataPointType,
  InMemoryMetricExporter,
  MeterProvider,
  PeriodicExportingMetricReader,
} from "@opentelemetry/sdk-metrics";
import {
  BasicTracerProvider,
  InMemorySpanExporter,
  SimpleSpanProcessor,
} from "@opentelemetry/sdk-trace-base";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { memoryServer } from "../../../../test/support/memory-server.js";
import { freshTable, Lockers, sdkClient } from "../../../../test/support/sdk.js";
import { inWorld, World } from "../../../../test/support/world.js";
import { assign } from "../../src/assign/index.js";
import { election } from "../../src/election/index.js";
import { all, inspect, mutex, openSession } from "../../src/index.js";
import { createTable } from "../../src/table/index.js";
import {
  startTelemetry,
  type Telemetry,
  type TelemetryOptions,
} from "../../src/telemetry/index.js";
import { everythingHappens } from "./everything.js";

const LENGTHS = { lease: 3_000, renew: 1_000 } as const;

let exported: InMemoryMetricExporter;
let meters: MeterProvider;
let spans: InMemorySpanExporter;
let tracers: BasicTracerProvider;
let telemetry: Telemetry | undefined;

beforeEach(() => {
  exported = new InMemoryMetricExporter(AggregationTemporality.CUMULATIVE);
  const reader = new PeriodicExportingMetricReader({ exporter: exported });
  meters = new MeterProvider({ readers: [reader] });
  spans = new InMemorySpanExporter();
  tracers = new BasicTracerProvider({ spanProcessors: [new SimpleSpanProcessor(spans)] });
});
afterEach(async () => {
  telemetry?.stop();
  await meters.shutdown();
  await tracers.shutdown();
});

function start(options: TelemetryOptions = {}): void {
  const meter = meters.getMeter("test");
  telemetry = startTelemetry({ meter, tracer: tracers.getTracer("test"), ...options });
}

const untilAborted = (_name: string, { signal }: { readonly signal: AbortSignal }) =>
  new Promise<void>((resolve) => signal.addEventListener("abort", () => resolve()));

interface Point {
  readonly attributes: Readonly<Record<string, unknown>>;
  /** Of a histogram: how often, and the sum. */
  readonly count: number;
  readonly sum: number;
}

/** The exported metrics, by name. */
async function collected(): Promise<Map<string, { unit: string; points: Point[] }>> {
  await meters.forceFlush();
  const all =
    exported
      .getMetrics()
      .at(-1)
      ?.scopeMetrics.flatMap((scope) => scope.metrics) ?? [];
  return new Map(
    all.map((metric) => {
      const points =
        metric.dataPointType === DataPointType.HISTOGRAM
          ? metric.dataPoints.map(({ attributes, value }) => {
              return { attributes, count: value.count, sum: value.sum ?? Number.NaN };
            })
          : metric.dataPoints.map(({ attributes, value }) => {
              return { attributes, count: value as number, sum: value as number };
            });
      return [metric.descriptor.name, { unit: metric.descriptor.unit, points }];
    }),
  );
}

async function pointsOf(name: string): Promise<Point[]> {
  return (await collected()).get(name)?.points ?? [];
}

const ofKind = (kind: string) => (point: Point) => point.attributes["holdfast.kind"] === kind;

describe("the metrics", () => {
  it("of a lock show grant, wait, hold and end", async () => {
    start();
    const world = new World();
    const one = world.inhabitant({ ...LENGTHS, owner: "one" });
    const two = world.inhabitant({ ...LENGTHS, owner: "two" });
    const lease = await world.until(mutex(one.locks, "a").acquire());
    const attributes = { "holdfast.kind": "lock" };
    expect(await pointsOf("holdfast.lease.active")).toEqual([{ attributes, count: 1, sum: 1 }]);
    await expect(
      world.until(mutex(two.locks, "a").acquire({ wait: "500ms" })),
    ).rejects.toMatchObject({
      code: "not-acquired",
    });
    await world.time.advance(1_500 - 510);
    await world.until(lease.release());
    expect(await pointsOf("holdfast.lease.active")).toEqual([{ attributes, count: 0, sum: 0 }]);
    expect(await pointsOf("holdfast.lease.grants")).toEqual([
      { attributes: { ...attributes, "holdfast.grant": "claim" }, count: 1, sum: 1 },
    ]);
    expect(await pointsOf("holdfast.lease.waits")).toEqual([{ attributes, count: 1, sum: 1 }]);
    const refused = { ...attributes, "error.type": "not-acquired" };
    expect(await pointsOf("holdfast.lease.refusals")).toEqual([
      { attributes: refused, count: 1, sum: 1 },
    ]);
    const waits = await pointsOf("holdfast.lease.wait.duration");
    expect(waits).toHaveLength(2);
    expect(waits[0]?.sum).toBeCloseTo(0.01);
    expect(waits[1]).toMatchObject({ attributes: refused, count: 1 });
    expect(waits[1]?.sum).toBeCloseTo(0.5, 1);
    const [held, ...others] = await pointsOf("holdfast.lease.hold.duration");
    expect(others).toEqual([]);
    expect(held).toMatchObject({ attributes: { ...attributes, "holdfast.end": "released" } });
    expect(held?.sum).toBeGreaterThan(1.4);
    expect(held?.sum).toBeLessThan(1.6);
    const [renewals] = await pointsOf("holdfast.lease.renewal.duration");
    expect(renewals).toMatchObject({ attributes: { "holdfast.outcome": "answered" }, count: 1 });
    expect(renewals?.sum).toBeCloseTo(0.01);
  });

  it("of a loss show the reason, and the delay in a stopped process", async () => {
    start();
    const world = new World();
    const one = world.inhabitant(LENGTHS);
    await world.until(mutex(one.locks, "a").acquire());
    one.process.pause();
    await world.time.advance(5_000);
    one.process.resume();
    await world.time.advance(100);
    const attributes = { "holdfast.kind": "lock", "holdfast.reason": "expired" };
    expect(await pointsOf("holdfast.lease.losses")).toEqual([{ attributes, count: 1, sum: 1 }]);
    const [late] = await pointsOf("holdfast.lease.loss.delay");
    // Five seconds, less the rest of a lease of three seconds.
    expect(late?.sum).toBeGreaterThan(2);
    expect(late?.sum).toBeLessThan(2.2);
    expect(await pointsOf("holdfast.lease.active")).toMatchObject([{ count: 0 }]);
  });

  it("ignore leases granted before telemetry started", async () => {
    const { world, locks } = inWorld(LENGTHS);
    const lease = await world.until(mutex(locks, "a").acquire());
    start();
    await world.until(lease.release());
    expect(await pointsOf("holdfast.lease.active")).toEqual([]);
    expect(await pointsOf("holdfast.lease.hold.duration")).toHaveLength(1);
  });

  it("of elections and tasks follow terms, gaps and runs", async () => {
    start();
    await everythingHappens();
    const kinds = (await pointsOf("holdfast.election.transitions")).map(({ attributes, count }) => {
      return [attributes["holdfast.transition"], attributes["holdfast.reason"], count];
    });
    expect(kinds).toEqual(
      expect.arrayContaining([
        ["elected", undefined, 2],
        ["lost", "expired", 1],
        ["resigned", undefined, 1],
      ]),
    );
    expect(await pointsOf("holdfast.election.leading")).toMatchObject([{ count: 0 }]);
    const [gap] = await pointsOf("holdfast.election.gap.duration");
    expect(gap?.sum).toBeGreaterThan(30);
    const runs = await pointsOf("holdfast.worker.run.duration");
    expect(runs.map(({ attributes }) => attributes["holdfast.worker"]).sort()).toEqual([
      "failing",
      "quick",
    ]);
    const troubles = await pointsOf("holdfast.worker.troubles");
    expect(troubles.map(({ attributes }) => attributes["holdfast.trouble"])).toContain("overdue");
    const sessions = (await pointsOf("holdfast.lease.grants")).filter(ofKind("session"));
    // One of the program, one of each client with a permit, and those of the assignment's members.
    expect(sessions).toMatchObject([{ count: 6 }]);
  });

  it("have no name, and end no process, where `nameOf` throws", async () => {
    start({
      nameOf: () => {
        throw new Error("of the test");
      },
    });
    const { world, locks } = inWorld();
    await world.until(mutex(locks, "a").run(async () => undefined));
    const [point] = await pointsOf("holdfast.lease.grants");
    expect(point?.attributes).toEqual({ "holdfast.kind": "lock", "holdfast.grant": "claim" });
  });

  it("are refused with a `nameOf` that is no function", () => {
    expect(() => start({ nameOf: "order/" as never })).toThrowError(
      expect.objectContaining({ code: "invalid-argument" }),
    );
  });

  it.each([{ meter: true }, { meter: null }, { tracer: true }, { tracer: null }, { tracer: {} }])(
    "are refused with %j, before a lease could end the process",
    (wrong) => {
      expect(() => start(wrong as never)).toThrowError(
        expect.objectContaining({ code: "invalid-argument" }),
      );
    },
  );

  it("of assignments count the names of the process, and their changes", async () => {
    start({ nameOf: ({ name }) => name });
    const world = new World();
    const one = world.inhabitant();
    const options = { names: ["a", "b"], run: () => new Promise(() => undefined) };
    const assignment = assign(one.locks, "work", options);
    await world.until(assignment.start());
    const attributes = { "holdfast.kind": "lock", "holdfast.name": "work" };
    expect(await pointsOf("holdfast.assignment.names")).toMatchObject([{ attributes, count: 2 }]);
    // The session ends during the pause, and with it both leases. The runs go on, so that the names are not taken again.
    one.process.pause();
    await world.time.advance(60_000);
    one.process.resume();
    await world.time.advance(11_000);
    expect(await pointsOf("holdfast.assignment.changes")).toMatchObject([
      { attributes: { ...attributes, "holdfast.change": "assigned" }, count: 2 },
      { attributes: { ...attributes, "holdfast.change": "lost" }, count: 2 },
    ]);
    expect(await pointsOf("holdfast.assignment.names")).toMatchObject([{ count: 0 }]);
  });

  it("count the terms and names of two tables with the same fences", async () => {
    start();
    const worlds = [new World(), new World()];
    const each = await Promise.all(
      worlds.map(async (world) => {
        const { locks } = world.inhabitant();
        const leadership = await world.until(election(locks, "billing").campaign());
        const options = { names: ["a"], run: untilAborted };
        const assignment = assign(locks, "work", options);
        await world.until(assignment.start());
        return { world, leadership, assignment };
      }),
    );
    const gauges = ["holdfast.election.leading", "holdfast.assignment.names"];
    for (const name of gauges) expect(await pointsOf(name)).toMatchObject([{ count: 2 }]);
    for (const { world, leadership, assignment } of each) {
      await world.until(leadership.release());
      await world.until(assignment.stop());
    }
    for (const name of gauges) expect(await pointsOf(name)).toMatchObject([{ count: 0 }]);
  });

  it("say when each task last began to run", async () => {
    start();
    const fromS = Date.now() / 1_000;
    await everythingHappens();
    const starts = await pointsOf("holdfast.worker.start.time");
    expect(starts.map(({ attributes }) => attributes["holdfast.worker"]).sort()).toEqual([
      "failing",
      "hanging",
      "quick",
    ]);
    for (const { sum } of starts) {
      expect(sum).toBeGreaterThanOrEqual(fromS);
      expect(sum).toBeLessThanOrEqual(Date.now() / 1_000);
    }
  });

  it("begin when a provider is registered after the telemetry was started", async () => {
    telemetry = startTelemetry({ tracer: false });
    const { world, locks } = inWorld();
    try {
      await world.until(mutex(locks, "before").acquire());
      metrics.setGlobalMeterProvider(meters);
      await world.until(mutex(locks, "after").acquire());
      await world.until(mutex(locks, "after, too").acquire());
      expect(await pointsOf("holdfast.lease.grants")).toMatchObject([{ count: 2 }]);
      telemetry?.stop();
      await world.until(mutex(locks, "stopped").acquire());
      expect(await pointsOf("holdfast.lease.grants")).toMatchObject([{ count: 2 }]);
    } finally {
      metrics.disable();
    }
  });

  it("have UCUM units, and unit-free names below `holdfast.`", async () => {
    start();
    await everythingHappens();
    const all = [...(await collected())];
    expect(all.length).toBeGreaterThan(15);
    for (const [name, { unit }] of all) {
      expect(name).toMatch(/^holdfast(\.[a-z]+)+$/);
      const isTime = /\.(duration|delay|time)$/.test(name);
      expect(unit, name).toMatch(isTime ? /^s$/ : /^\{[a-z]+\}$/);
    }
  });

  it("contain no name of a lock, holder or owner by default", async () => {
    start();
    await everythingHappens();
    const values = [...(await collected()).values()]
      .flatMap(({ points }) => points)
      .flatMap(({ attributes }) => Object.values(attributes));
    // All bounded values: kinds, outcomes, reasons, codes, task names.
    expect(values.filter((value) => !/^[a-z]+([ -][a-z]+)*$/.test(String(value)))).toEqual([]);
    for (const name of ["a", "b", "pool", "one", "two"]) expect(values).not.toContain(name);
    telemetry?.stop();
    start({ nameOf: ({ kind, name }) => (kind === "lock" ? name : undefined) });
    await everythingHappens();
    const named = (await pointsOf("holdfast.lease.grants")).map(
      ({ attributes }) => attributes["holdfast.name"],
    );
    expect(new Set(named)).toEqual(
      new Set([undefined, "a", "b", "c", "q", "work/a", "work/b", "work/bad"]),
    );
  });
});

describe("the metrics of requests", () => {
  const unitsTold = async () => {
    const points = await pointsOf("holdfast.request.units");
    return Object.fromEntries(
      points.map(({ attributes, count }) => [attributes["holdfast.operation"], count]),
    );
  };
  const server = memoryServer();

  it("show DynamoDB's charges: a unit for each write, refused writes too, half for a poll", async () => {
    const client = sdkClient(server.endpoint);
    const table = freshTable();
    await createTable({ client, table });
    start();
    const lockers = new Lockers();
    const one = lockers.make({ client, table }).locks;
    const two = lockers.make({ client, table }).locks;
    const lease = await mutex(one, "a").acquire();
    await mutex(two, "a").tryAcquire();
    await inspect(two, "a");
    await lease.release();
    expect(await unitsTold()).toEqual({ write: 3, read: 1 });
    const outcomes = await pointsOf("holdfast.request.duration");
    expect(
      outcomes.map(({ attributes, count }) => [attributes["holdfast.outcome"], count]),
    ).toEqual([
      ["applied", 2],
      ["refused", 1],
      ["found", 1],
    ]);
    expect(outcomes.every(({ sum }) => sum > 0 && sum < 5)).toBe(true);
    await all(one, ["b", "c"]).acquire();
    expect(await unitsTold()).toMatchObject({ write: 3, transaction: 4 });
    await lockers.closeAll();
    client.destroy();
  });
});

describe("the spans", () => {
  const named = (name: string) => spans.getFinishedSpans().filter((span) => span.name === name);

  it("cover the acquisition and the hold", async () => {
    start();
    const { world, locks } = inWorld({ ...LENGTHS, owner: "one" });
    const lease = await world.until(mutex(locks, "a").acquire());
    expect(named("holdfast.hold")).toEqual([]);
    const [acquire] = named("holdfast.acquire");
    const { fence, holder } = lease;
    expect(acquire?.attributes).toEqual({
      "holdfast.kind": "lock",
      "holdfast.name": "a",
      "holdfast.owner": "one",
      "holdfast.holder": holder,
      "holdfast.fence": String(fence),
      "holdfast.grant": "claim",
    });
    const [seconds = 0, nanoseconds = 0] = acquire?.duration ?? [];
    expect(seconds * 1_000 + nanoseconds / 1e6).toBeGreaterThanOrEqual(9);
    await world.until(lease.release());
    expect(named("holdfast.hold")).toMatchObject([{ attributes: { "holdfast.holder": holder } }]);
    expect(named("holdfast.hold")[0]?.status.code).toBe(SpanStatusCode.UNSET);
  });

  it("of a lost lease end with an error and the reason, and list each unanswered renewal", async () => {
    start();
    const world = new World();
    const one = world.inhabitant(LENGTHS);
    await world.until(mutex(one.locks, "a").acquire());
    one.network.script(() => ({ fault: "request-lost", unknownAfterMs: 50 }));
    await world.time.advance(5_000);
    const [hold, ...others] = named("holdfast.hold");
    expect(others).toEqual([]);
    expect(hold?.status).toEqual({ code: SpanStatusCode.ERROR, message: "lost: expired" });
    expect(hold?.events.map(({ name }) => name)).toContain("renewal unanswered");
  });

  it("of a refusal are errors unless the lock was held", async () => {
    start();
    const world = new World();
    const one = world.inhabitant(LENGTHS);
    const two = world.inhabitant(LENGTHS);
    await world.until(mutex(one.locks, "a").acquire());
    await world.until(mutex(two.locks, "a").tryAcquire());
    two.network.script(() => ({ fault: "throttled" }));
    await expect(
      world.until(mutex(two.locks, "a").acquire({ wait: "200ms" })),
    ).rejects.toBeDefined();
    const codes = named("holdfast.acquire").map(({ attributes, status }) => {
      return [attributes["error.type"], status.code === SpanStatusCode.ERROR];
    });
    expect(codes).toEqual([
      [undefined, false],
      ["not-acquired", false],
      ["throttled", true],
    ]);
  });

  it("are children of the span that was active at the acquisition", async () => {
    context.setGlobalContextManager(new AsyncLocalStorageContextManager().enable());
    try {
      start();
      const { world, locks } = inWorld(LENGTHS);
      const outer = tracers.getTracer("test").startSpan("outer");
      const lease = await context.with(trace.setSpan(context.active(), outer), () =>
        world.until(mutex(locks, "a").acquire()),
      );
      await world.until(lease.release());
      outer.end();
      const { spanId } = outer.spanContext();
      for (const name of ["holdfast.acquire", "holdfast.hold"]) {
        expect(named(name)[0]?.parentSpanContext?.spanId).toBe(spanId);
      }
    } finally {
      context.disable();
    }
  });

  it("do not cover leaderships and sessions, and end when telemetry stops", async () => {
    start();
    const { world, locks } = inWorld(LENGTHS);
    await world.until(openSession(locks));
    await world.until(election(locks, "pool").campaign());
    await world.until(mutex(locks, "a").acquire());
    telemetry?.stop();
    expect(spans.getFinishedSpans().map(({ name }) => name)).toEqual([
      "holdfast.acquire",
      "holdfast.hold",
    ]);
  });
});

describe("telemetry", () => {
  it("uses the global providers by default, and skips disabled outputs", async () => {
    metrics.setGlobalMeterProvider(meters);
    trace.setGlobalTracerProvider(tracers);
    try {
      telemetry = startTelemetry({ tracer: false });
      await everythingHappens();
      expect((await collected()).size).toBeGreaterThan(15);
      expect(spans.getFinishedSpans()).toEqual([]);
      telemetry?.stop();
      const grants = await pointsOf("holdfast.lease.grants");
      await everythingHappens();
      expect(await pointsOf("holdfast.lease.grants")).toEqual(grants);
      telemetry = startTelemetry({ meter: false });
      await everythingHappens();
      expect(await pointsOf("holdfast.lease.grants")).toEqual(grants);
      expect(spans.getFinishedSpans().length).toBeGreaterThan(5);
    } finally {
      metrics.disable();
      trace.disable();
    }
  });
});
