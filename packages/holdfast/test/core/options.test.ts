import { describe, expect, it } from "vitest";
import { expectThrown } from "../../../../test/support/errors.js";
import { resolveClient } from "../../src/core/client-settings.js";
import {
  type AcquireOptions,
  type ClientOptions,
  checkLease,
  DEFAULTS,
  resolveAcquire,
  resolveLease,
} from "../../src/core/options.js";
import { Holdfast, sharedSession } from "../../src/index.js";

const refused = expect.objectContaining({ code: "invalid-argument" });

describe("client options", () => {
  it("have these defaults", () => {
    expect(resolveClient({})).toEqual({
      maxClockDrift: 0.01,
      maxClockErrorMs: 10_000,
      requestTimeoutMs: 5_000,
      closeTimeoutMs: 5_000,
      maxLocalHandoffs: 16,
      sessionPrefix: "",
    });
  });

  it("accept the smallest and the largest values", () => {
    for (const maxClockDrift of [0, 0.1])
      expect(resolveClient({ maxClockDrift })).toMatchObject({ maxClockDrift });
    for (const session of [false, sharedSession(), undefined] as const)
      expect(() => resolveClient({ sharedSession: session, renew: 1_000 })).not.toThrow();
    expect(() => resolveClient({ sharedSession: false, renew: "manual" })).not.toThrow();
    expect(resolveClient({ maxLocalHandoffs: 0 })).toMatchObject({ maxLocalHandoffs: 0 });
    expect(resolveClient({ requestTimeout: "10ms", closeTimeout: "1d" })).toMatchObject({
      requestTimeoutMs: 10,
      closeTimeoutMs: 24 * 3_600_000,
    });
  });

  const WRONG: readonly ClientOptions[] = [
    { maxClockDrift: -0.001 },
    { maxClockDrift: 0.11 },
    // 1 + "0.05" is "10.05".
    { maxClockDrift: "0.05" as unknown as number },
    { maxClockDrift: Number.NaN },
    { maxLocalHandoffs: -1 },
    { maxLocalHandoffs: 1.5 },
    { maxLocalHandoffs: Number.NaN },
    { maxLocalHandoffs: Number.POSITIVE_INFINITY },
    { requestTimeout: "9ms" },
    { requestTimeout: "5" },
    { requestTimeout: Number.POSITIVE_INFINITY },
    { closeTimeout: 0 },
    { closeTimeout: Number.NaN },
    { closeTimeout: "25h" },
    { sharedSession: "all" as never },
    { sharedSession: true as never },
    { sharedSession: null as never },
    { sessionPrefix: 1 as never },
    { sessionPrefix: "\ud800" },
    { sessionPrefix: "x".repeat(2_001) },
    { sharedSession: sharedSession(), renew: "manual" },
    { sharedSession: sharedSession({ thread: true, mayBlock: "1m" }), renew: "manual" },
  ];

  it.each(WRONG.map((options) => [options]))("refuse %j", (options) => {
    expect(() => resolveClient(options)).toThrowError(refused);
  });

  it.each(["client", "table", "format", "keys", "history", "ring", "onError"])(
    "refuse null as `%s`",
    (name) => {
      const options = { client: { send: () => undefined }, table: "locks", [name]: null };
      expect(() => new Holdfast(options as never)).toThrowError(refused);
    },
  );
});

describe("acquire options", () => {
  it("have these defaults", () => {
    expect(resolveAcquire([], "host:1")).toEqual({
      adaptsPoll: true,
      firstPollMs: 100,
      leaseMs: 30_000,
      renewMs: 10_000,
      waitMs: 60_000,
      beyondLeaseMs: 10_000,
      minPollMs: 100,
      maxPollMs: 2_000,
      retryMs: 100,
      owner: "host:1",
      signal: undefined,
      data: undefined,
      existingData: "replace",
      attributes: undefined,
      existingAttributes: "replace",
      keepData: false,
      onlyIfExists: false,
    });
  });

  it("use the format's defaults, with a wait that outlasts the lease", () => {
    const defaults = {
      lease: "20s",
      renewsPerLease: 4,
      wait: { beyondLease: "1s" },
      minPoll: "1s",
      maxPoll: "3s",
      existingData: "keep",
      keepData: true,
    } as const;
    const resolved = resolveAcquire([], "me", defaults);
    expect(resolved).toMatchObject({
      ...{ leaseMs: 20_000, renewMs: 5_000, waitMs: 21_400 },
      ...{ minPollMs: 1_000, maxPollMs: 3_000, existingData: "keep", keepData: true },
    });
    expect(resolveAcquire([{ lease: "40s" }], "me", defaults).waitMs).toBe(41_800);
    const asked = { existingData: "replace", keepData: false } as const;
    expect(resolveAcquire([{ ...asked, wait: 0 }], "me", defaults)).toMatchObject({
      ...asked,
      waitMs: 0,
    });
  });

  it("have immutable defaults", () => {
    expect(Object.isFrozen(DEFAULTS)).toBe(true);
    expect(DEFAULTS).toEqual({
      lease: "30s",
      renewsPerLease: 3,
      wait: { beyondLease: "10s" },
      leastWait: "60s",
      minPoll: "100ms",
      maxPoll: "2s",
      maxClockDrift: 0.01,
      maxClockError: "10s",
      requestTimeout: "5s",
      closeTimeout: "5s",
      maxLocalHandoffs: 16,
    });
  });

  it("override the mutex's options, and the mutex's override the client's, each separately", () => {
    const client: AcquireOptions = {
      lease: "60s",
      wait: "1m",
      owner: "client",
      poll: { min: "10ms" },
    };
    const mutex: AcquireOptions = { wait: "2m", keepData: true, poll: { max: "5s" } };
    const own: AcquireOptions = { owner: "own", data: 0, poll: { min: "20ms" } };
    expect(resolveAcquire([own, mutex, client], "host:1")).toMatchObject({
      leaseMs: 60_000,
      renewMs: 20_000,
      waitMs: 120_000,
      minPollMs: 20,
      maxPollMs: 5_000,
      owner: "own",
      data: 0,
      keepData: true,
    });
  });

  it("override with false, 0, empty and null values too", () => {
    const layers: AcquireOptions[] = [
      { keepData: false, onlyIfExists: false, wait: 0, data: null },
      { keepData: true, onlyIfExists: true, wait: "1m", data: 1 },
    ];
    expect(resolveAcquire(layers, "me")).toMatchObject({
      keepData: false,
      onlyIfExists: false,
      waitMs: 0,
      data: null,
    });
  });

  it("ignore undefined values", () => {
    const layers = [{ lease: undefined, wait: undefined, poll: undefined }, { lease: "9s" }];
    expect(resolveAcquire(layers, "me")).toMatchObject({ leaseMs: 9_000, renewMs: 3_000 });
  });

  it("accept the smallest and the largest values", () => {
    const year = 365 * 24 * 3_600_000;
    expect(resolveAcquire([{ lease: "100ms", renew: "50ms" }], "me")).toMatchObject({
      leaseMs: 100,
    });
    expect(resolveAcquire([{ lease: year }], "me")).toMatchObject({ leaseMs: year });
    expect(resolveAcquire([{ lease: "1m", renew: "manual" }], "me").renewMs).toBe("manual");
    expect(resolveAcquire([{ lease: "20s", renew: "10s" }], "me").renewMs).toBe(10_000);
    expect(resolveAcquire([{ wait: 0 }], "me").waitMs).toBe(0);
    expect(resolveAcquire([{ wait: Number.POSITIVE_INFINITY }], "me").waitMs).toBe(
      Number.POSITIVE_INFINITY,
    );
    expect(resolveAcquire([{ poll: { min: "1ms", max: "1ms" } }], "me")).toMatchObject({
      minPollMs: 1,
      maxPollMs: 1,
    });
    expect(resolveAcquire([{ owner: "x".repeat(1_000) }], "me").owner).toHaveLength(1_000);
  });

  const WRONG: readonly AcquireOptions[] = [
    { lease: "99ms" },
    { lease: 366 * 24 * 3_600_000 },
    { lease: 1_000.5 },
    { lease: "30" },
    { lease: Number.NaN },
    { lease: "10s", renew: "5001ms" },
    { lease: "19s", renew: "10s" },
    { renew: "9ms" },
    { renew: "auto" },
    { renew: Number.NaN },
    { renew: Number.POSITIVE_INFINITY },
    { wait: -1 },
    { wait: "-5s" },
    { wait: Number.NaN },
    { wait: Number.NEGATIVE_INFINITY },
    { poll: { min: 0 } },
    { poll: { min: "0.5ms" } },
    { poll: { max: "2d" } },
    { poll: { max: "99ms" } },
    { poll: { min: 2_001 } },
    { owner: "" },
    { owner: "x".repeat(1_001) },
    { owner: "\u00e9".repeat(501) },
    { existingData: "Keep" as never },
  ];

  it.each(WRONG.map((options) => [options]))("refuse %j in any layer", (options) => {
    expect(() => resolveAcquire([options], "me")).toThrowError(refused);
    expect(() => resolveAcquire([{}, { keepData: true }, options], "me")).toThrowError(refused);
  });

  it("are checked together across layers", () => {
    expect(() => resolveAcquire([{ lease: "10s" }, { renew: "6s" }], "me")).toThrowError(refused);
    expect(() =>
      resolveAcquire([{ poll: { max: "50ms" } }, { poll: { min: "60ms" } }], "me"),
    ).toThrowError(refused);
  });
});

describe("the error of a wrong option", () => {
  type Facts = readonly (string | RegExp)[];

  const CLIENT: readonly [ClientOptions, facts: Facts][] = [
    [{ maxClockDrift: 0.2 }, ["`maxClockDrift`", "0 and 0.1", "0.2"]],
    [{ sharedSession: "all" as never }, ["`sharedSession`", "all"]],
    [{ sharedSession: sharedSession(), renew: "manual" }, ["`sharedSession`", '`renew: "manual"`']],
    [{ maxLocalHandoffs: -1 }, ["`maxLocalHandoffs`", "0", "-1"]],
    [{ requestTimeout: "9ms" }, ["`requestTimeout`", "10 ms", "86400000 ms", '"9ms"']],
    [{ closeTimeout: "9ms" }, ["`closeTimeout`", "10 ms", "86400000 ms", '"9ms"']],
  ];

  it("names a value that JSON cannot write", () => {
    const mentions = ["`sharedSession`", "sharedSession()", "1"];
    const resolve = () => resolveClient({ sharedSession: 1n as never });
    expectThrown(resolve, { code: "invalid-argument", mentions });
  });

  it.each(CLIENT)("names the client option and its value: %j", (options, mentions) => {
    expectThrown(() => resolveClient(options), { code: "invalid-argument", mentions });
  });

  const ACQUIRE: readonly [AcquireOptions, facts: Facts][] = [
    [{ lease: "99ms" }, ["`lease`", "100 ms", "31536000000 ms", '"99ms"']],
    [{ lease: 1_000.5 }, ["`lease`", "1000.5"]],
    [{ lease: "1s", renew: "600ms" }, ["`lease`", "1000 ms", "`renew`", "600 ms"]],
    [{ renew: "9ms" }, ["`renew`", "10 ms", "31536000000 ms", '"9ms"']],
    [{ wait: -1 }, ["`wait`", "0 ms", "-1"]],
    [{ poll: { min: 0 } }, ["`poll.min`", "1 ms", "86400000 ms", "0"]],
    [{ poll: { max: "2d" } }, ["`poll.max`", "1 ms", "86400000 ms", '"2d"']],
    [{ poll: { min: "60ms", max: "50ms" } }, ["`poll.min`", "60 ms", "`poll.max`", "50 ms"]],
    [{ owner: 5 as never }, ["`owner`", /\bstring\b/]],
    [{ owner: "" }, ["`owner`", "1 to 1000", "0"]],
    [{ owner: "x".repeat(1_001) }, ["`owner`", "1 to 1000", "1001"]],
    [{ existingData: "merge" as never }, ["`existingData`", '"replace"', '"keep"', '"merge"']],
    [
      { existingAttributes: "merge" as never },
      ["`existingAttributes`", '"replace"', '"keep"', '"merge"'],
    ],
  ];

  it.each(ACQUIRE)("names the acquire option and its value: %j", (options, mentions) => {
    const resolve = (): unknown => resolveAcquire([options], "me");
    expectThrown(resolve, { code: "invalid-argument", mentions });
  });

  it("ignores a layer without a value", () => {
    const layers: AcquireOptions[] = [{ poll: undefined }, { poll: { min: "7ms" } }];
    expect(resolveAcquire(layers, "me").minPollMs).toBe(7);
  });
});

describe("checkLease", () => {
  it("requires two renewals and whole milliseconds", () => {
    expect(() => checkLease(20, 10)).not.toThrow();
    expect(() => checkLease(19, 10)).toThrowError(refused);
    expect(() => checkLease(20.5, 10)).toThrowError(refused);
    expect(() => checkLease(1, "manual")).not.toThrow();
    expect(resolveLease("1m")).toBe(60_000);
    expectThrown(() => resolveLease("99ms"), {
      code: "invalid-argument",
      mentions: ["`lease`", "100 ms"],
    });
    expect(() => resolveLease(Number.POSITIVE_INFINITY)).toThrowError(refused);
  });
});
