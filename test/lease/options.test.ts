import { describe, expect, it } from "vitest";
import {
  type AcquireOptions,
  type ClientOptions,
  checkLease,
  DEFAULTS,
  resolveAcquire,
  resolveClient,
  resolveLease,
} from "../../src/lease/options.js";

const refused = expect.objectContaining({ code: "invalid-argument" });

describe("the client's options", () => {
  it("have these defaults", () => {
    expect(resolveClient({})).toEqual({
      driftBound: 0.01,
      requestTimeoutMs: 5_000,
      closeTimeoutMs: 5_000,
      handOverLimit: 16,
    });
  });

  it("are taken as given at both ends of what they may be", () => {
    for (const driftBound of [0, 0.1])
      expect(resolveClient({ driftBound })).toMatchObject({ driftBound });
    for (const renewal of ["each", "shared", undefined] as const)
      expect(() => resolveClient({ renewal, renew: 1_000 })).not.toThrow();
    expect(() => resolveClient({ renewal: "each", renew: "manual" })).not.toThrow();
    expect(resolveClient({ handOverLimit: 0 })).toMatchObject({ handOverLimit: 0 });
    expect(resolveClient({ requestTimeout: 10, closeTimeout: "1d" })).toMatchObject({
      requestTimeoutMs: 10,
      closeTimeoutMs: 24 * 3_600_000,
    });
  });

  const WRONG: readonly ClientOptions[] = [
    { driftBound: -0.001 },
    { driftBound: 0.11 },
    { driftBound: Number.NaN },
    { handOverLimit: -1 },
    { handOverLimit: 1.5 },
    { handOverLimit: Number.NaN },
    { handOverLimit: Number.POSITIVE_INFINITY },
    { requestTimeout: 9 },
    { requestTimeout: "5" },
    { requestTimeout: Number.POSITIVE_INFINITY },
    { closeTimeout: 0 },
    { closeTimeout: Number.NaN },
    { closeTimeout: "25h" },
    { renewal: "all" as never },
    { renewal: "shared", renew: "manual" },
  ];

  it.each(WRONG.map((options) => [options]))("refuse %j", (options) => {
    expect(() => resolveClient(options)).toThrowError(refused);
  });
});

describe("an acquisition's options", () => {
  it("have these defaults", () => {
    expect(resolveAcquire([], "host:1")).toEqual({
      leaseMs: 30_000,
      renewMs: 10_000,
      waitMs: 60_000,
      fastestPollMs: 100,
      slowestPollMs: 2_000,
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

  it("have a format's defaults where it has its own, and a wait that outlives its lease", () => {
    const defaults = {
      lease: "20s",
      renewsPerLease: 4,
      wait: { beyondLease: "1s" },
      fastestPoll: "1s",
      slowestPoll: "3s",
      existingData: "keep",
      keepData: true,
    } as const;
    const resolved = resolveAcquire([], "me", defaults);
    expect(resolved).toMatchObject({
      ...{ leaseMs: 20_000, renewMs: 5_000, waitMs: 21_400 },
      ...{ fastestPollMs: 1_000, slowestPollMs: 3_000, existingData: "keep", keepData: true },
    });
    expect(resolveAcquire([{ lease: "40s" }], "me", defaults).waitMs).toBe(41_800);
    const asked = { existingData: "replace", keepData: false } as const;
    expect(resolveAcquire([{ ...asked, wait: 0 }], "me", defaults)).toMatchObject({
      ...asked,
      waitMs: 0,
    });
  });

  it("have defaults that nobody can change", () => {
    expect(Object.isFrozen(DEFAULTS)).toBe(true);
    expect(DEFAULTS).toEqual({
      lease: "30s",
      renewsPerLease: 3,
      wait: "60s",
      fastestPoll: "100ms",
      slowestPoll: "2s",
      driftBound: 0.01,
      requestTimeout: "5s",
      closeTimeout: "5s",
      handOverLimit: 16,
    });
  });

  it("go before the mutex's, and those before the client's, one by one", () => {
    const client: AcquireOptions = {
      lease: "60s",
      wait: "1m",
      owner: "client",
      poll: { fastest: 10 },
    };
    const mutex: AcquireOptions = { wait: "2m", keepData: true, poll: { slowest: "5s" } };
    const own: AcquireOptions = { owner: "own", data: 0, poll: { fastest: 20 } };
    expect(resolveAcquire([own, mutex, client], "host:1")).toMatchObject({
      leaseMs: 60_000,
      renewMs: 20_000,
      waitMs: 120_000,
      fastestPollMs: 20,
      slowestPollMs: 5_000,
      owner: "own",
      data: 0,
      keepData: true,
    });
  });

  it("that are false, 0, empty or null stand against another layer's", () => {
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

  it("that are undefined are as if they were left out", () => {
    const layers = [{ lease: undefined, wait: undefined, poll: undefined }, { lease: "9s" }];
    expect(resolveAcquire(layers, "me")).toMatchObject({ leaseMs: 9_000, renewMs: 3_000 });
  });

  it("are taken as given at both ends of what they may be", () => {
    const year = 365 * 24 * 3_600_000;
    expect(resolveAcquire([{ lease: 100, renew: 50 }], "me")).toMatchObject({ leaseMs: 100 });
    expect(resolveAcquire([{ lease: year }], "me")).toMatchObject({ leaseMs: year });
    expect(resolveAcquire([{ lease: "1m", renew: "manual" }], "me").renewMs).toBe("manual");
    expect(resolveAcquire([{ lease: "20s", renew: "10s" }], "me").renewMs).toBe(10_000);
    expect(resolveAcquire([{ wait: 0 }], "me").waitMs).toBe(0);
    expect(resolveAcquire([{ wait: Number.POSITIVE_INFINITY }], "me").waitMs).toBe(
      Number.POSITIVE_INFINITY,
    );
    expect(resolveAcquire([{ poll: { fastest: 1, slowest: 1 } }], "me")).toMatchObject({
      fastestPollMs: 1,
      slowestPollMs: 1,
    });
    expect(resolveAcquire([{ owner: "x".repeat(1_000) }], "me").owner).toHaveLength(1_000);
  });

  const WRONG: readonly AcquireOptions[] = [
    { lease: 99 },
    { lease: 366 * 24 * 3_600_000 },
    { lease: 1_000.5 },
    { lease: "30" },
    { lease: Number.NaN },
    { lease: "10s", renew: "5001ms" },
    { lease: "19s", renew: "10s" },
    { renew: 9 },
    { renew: "auto" },
    { renew: Number.NaN },
    { renew: Number.POSITIVE_INFINITY },
    { wait: -1 },
    { wait: "-5s" },
    { wait: Number.NaN },
    { wait: Number.NEGATIVE_INFINITY },
    { poll: { fastest: 0 } },
    { poll: { fastest: 0.5 } },
    { poll: { slowest: "2d" } },
    { poll: { slowest: 99 } },
    { poll: { fastest: 2_001 } },
    { owner: "" },
    { owner: "x".repeat(1_001) },
    { owner: "\u00e9".repeat(501) },
    { existingData: "Keep" as never },
  ];

  it.each(WRONG.map((options) => [options]))("refuse %j, in any layer", (options) => {
    expect(() => resolveAcquire([options], "me")).toThrowError(refused);
    expect(() => resolveAcquire([{}, { keepData: true }, options], "me")).toThrowError(refused);
  });

  it("are checked together, across layers", () => {
    expect(() => resolveAcquire([{ lease: "10s" }, { renew: "6s" }], "me")).toThrowError(refused);
    expect(() =>
      resolveAcquire([{ poll: { slowest: 50 } }, { poll: { fastest: 60 } }], "me"),
    ).toThrowError(refused);
  });
});

describe("an option that is wrong", () => {
  const CLIENT: readonly [ClientOptions, message: string][] = [
    [{ driftBound: 0.2 }, "The option `driftBound` must lie between 0 and 0.1; it is 0.2."],
    [{ renewal: "all" as never }, 'The option `renewal` must be "each" or "shared"; it is "all".'],
    [
      { renewal: "shared", renew: "manual" },
      'The option `renewal: "shared"` renews by itself; it does not go with `renew: "manual"`.',
    ],
    [{ handOverLimit: -1 }, "The option `handOverLimit` must be a whole number from 0; it is -1."],
    [
      { requestTimeout: 9 },
      "The option `requestTimeout` must lie between 10 ms and 86400000 ms; it is 9.",
    ],
    [
      { closeTimeout: 9 },
      "The option `closeTimeout` must lie between 10 ms and 86400000 ms; it is 9.",
    ],
  ];

  it.each(CLIENT)("of the client is named, with what it is: %j", (options, message) => {
    expect(() => resolveClient(options)).toThrowError(expect.objectContaining({ message }));
  });

  const ACQUIRE: readonly [AcquireOptions, message: string][] = [
    [{ lease: 99 }, "The option `lease` must lie between 100 ms and 31536000000 ms; it is 99."],
    [{ lease: 1_000.5 }, "The option `lease` must be whole milliseconds; it is 1000.5."],
    [
      { lease: "1s", renew: "600ms" },
      "The option `lease` (1000 ms) must last for two renewals (`renew` is 600 ms): one renewal that " +
        "fails would end it. Make the lease longer, or renew more often.",
    ],
    [{ renew: 9 }, "The option `renew` must lie between 10 ms and 31536000000 ms; it is 9."],
    [{ wait: -1 }, "The option `wait` must lie between 0 ms and Infinity ms; it is -1."],
    [
      { poll: { fastest: 0 } },
      "The option `poll.fastest` must lie between 1 ms and 86400000 ms; it is 0.",
    ],
    [
      { poll: { slowest: "2d" } },
      'The option `poll.slowest` must lie between 1 ms and 86400000 ms; it is "2d".',
    ],
    [
      { poll: { fastest: 60, slowest: 50 } },
      "The option `poll.fastest` (60 ms) must not exceed `poll.slowest` (50 ms).",
    ],
    [{ owner: 5 as never }, "The option `owner` must be a string."],
    [{ owner: "" }, "The option `owner` must be 1 to 1000 bytes long; it has 0."],
    [{ owner: "x".repeat(1_001) }, "The option `owner` must be 1 to 1000 bytes long; it has 1001."],
    [{ signal: {} as never }, "The option `signal` must be an AbortSignal."],
    [{ signal: null as never }, "The option `signal` must be an AbortSignal."],
    [
      { existingData: "merge" as never },
      'The option `existingData` must be "replace" or "keep"; it is "merge".',
    ],
    [
      { existingAttributes: "merge" as never },
      'The option `existingAttributes` must be "replace" or "keep"; it is "merge".',
    ],
  ];

  it.each(ACQUIRE)("of an acquisition is named, with what it is: %j", (options, message) => {
    expect(() => resolveAcquire([options], "me")).toThrowError(
      expect.objectContaining({ message }),
    );
  });

  it("of a layer that asks for nothing of it hides no other layer's", () => {
    const layers: AcquireOptions[] = [{ poll: undefined }, { poll: { fastest: 7 } }];
    expect(resolveAcquire(layers, "me").fastestPollMs).toBe(7);
  });
});

describe("another length for a lease", () => {
  it("lasts for two renewals, in whole milliseconds", () => {
    expect(() => checkLease(20, 10)).not.toThrow();
    expect(() => checkLease(19, 10)).toThrowError(refused);
    expect(() => checkLease(20.5, 10)).toThrowError(refused);
    expect(() => checkLease(1, "manual")).not.toThrow();
    expect(resolveLease("1m")).toBe(60_000);
    expect(() => resolveLease(99)).toThrowError("The option `lease` must lie between 100 ms");
    expect(() => resolveLease(Number.POSITIVE_INFINITY)).toThrowError(refused);
  });
});
