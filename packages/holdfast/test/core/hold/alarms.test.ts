import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { afterEach, beforeEach, describe, expect, it } from "vitest";
import { alarmsUnder } from "../../../../../test/support/alarms.js";
import { type Inhabitant, World } from "../../../../../test/support/world.js";
import { forceRelease, releaseByHolder } from "../../../src/admin/index.js";
import {
  LEASE_CHANNELS,
  type LeaseEvent,
  type LeaseRenewalEvent,
  type LossEvent,
} from "../../../src/events/index.js";
import { exportLease, type Lease, mutex, openSession } from "../../../src/index.js";

// Each lease alarm of docs/operations.md, as an operator would build it from the events alone.

const NO_ALARM = ["released-by-force", "exported", "closed"];
const LATEST_MS = 1_000;
const LEASE_MS = 30_000;
const NAME = "alarmed";

let world: World;
let losses: LossEvent[];
let renewals: LeaseRenewalEvent[];
// The channels are those of the process: a client of another test may still have a lease that ends.
const isOwn = ({ kind, name }: LeaseEvent): boolean => kind !== "lock" || name === NAME;
const noteLoss = (event: unknown): void => {
  if (isOwn(event as LossEvent)) losses.push(event as LossEvent);
};
const noteRenewal = (event: unknown): void => {
  if (isOwn(event as LeaseRenewalEvent)) renewals.push(event as LeaseRenewalEvent);
};

beforeEach(() => {
  world = new World();
  losses = [];
  renewals = [];
  subscribe(LEASE_CHANNELS.loss, noteLoss);
  subscribe(LEASE_CHANNELS.renewal, noteRenewal);
});
afterEach(() => {
  unsubscribe(LEASE_CHANNELS.loss, noteLoss);
  unsubscribe(LEASE_CHANNELS.renewal, noteRenewal);
});

const reasons = (): string[] => losses.map(({ reason }) => reason);
const alarms = () => ({
  losses: losses.filter(({ reason }) => !NO_ALARM.includes(reason)).length,
  unanswered: renewals.filter(({ isAnswered }) => !isAnswered).length,
  late: renewals.filter(({ lateMs }) => lateMs > LATEST_MS).length,
});
const SILENT = { losses: 0, unanswered: 0, late: 0 };

async function holding(one = world.inhabitant()): Promise<Inhabitant & { readonly lease: Lease }> {
  return { ...one, lease: await world.until(mutex(one.locks, NAME).acquire()) };
}

describe("the alarms of leases", () => {
  it("match the thresholds in the document", () => {
    const but = NO_ALARM.map((reason) => `\`${reason}\``);
    expect(alarmsUnder("Leases")).toEqual({
      losses: `the first \`loss\` with a \`reason\` other than ${but.slice(0, -1).join(", ")} and ${but.at(-1)}`,
      renewals: "the first `renewal` with `isAnswered` false",
      "renewals late": `\`lateMs\` above ${LATEST_MS.toLocaleString("en")}, with \`renewal\``,
    });
  });

  it("stay silent for a day without a fault", async () => {
    await holding();
    await world.time.advance(24 * 3_600_000);
    expect(renewals.length).toBeGreaterThan(8_000);
    expect(alarms()).toEqual(SILENT);
  });

  it.each<[string, (one: Inhabitant & { readonly lease: Lease }) => unknown]>([
    ["expired", ({ network }) => network.script(() => ({ fault: "request-lost" }))],
    ["deleted", () => world.table.deleteItem(KEY)],
    ["released-elsewhere", ({ locks, lease }) => releaseByHolder(locks, NAME, lease.holder)],
    [
      "stolen",
      () => world.table.putItem(KEY, { ...world.record(NAME), holder: { S: "not a client" } }),
    ],
  ])("fire for a loss: %s", async (reason, happens) => {
    void happens(await holding());
    await world.time.advance(LEASE_MS + 1_000);
    expect(reasons()).toEqual([reason]);
    expect(alarms().losses).toBe(1);
  });

  it("fire for a loss: the session of many locks ends", async () => {
    const { locks } = world.inhabitant();
    const session = await world.until(openSession(locks));
    await world.until(mutex(locks, NAME, { session }).acquire());
    world.table.deleteItem({ pk: { S: `session#${session.id}` }, sk: { S: "lease" } });
    await world.time.advance(LEASE_MS + 1_000);
    expect(reasons()).toContain("session-ended");
    expect(alarms().losses).toBeGreaterThan(0);
  });

  it.each<[string, (one: Inhabitant & { readonly lease: Lease }) => Promise<unknown>]>([
    ["released-by-force", ({ locks }) => forceRelease(locks, NAME, { reason: "a test" })],
    ["exported", ({ lease }) => exportLease(lease)],
    ["closed", ({ locks }) => locks.close()],
  ])("stay silent for an intended loss: %s", async (reason, happens) => {
    const one = await holding();
    one.lease.signal.addEventListener("abort", () => void one.lease.release());
    await world.until(happens(one));
    await world.time.advance(LEASE_MS);
    expect(reasons()).toEqual([reason]);
    expect(alarms()).toEqual(SILENT);
  });

  it("fire for the first unanswered renewal, more than a third of the lease before the loss", async () => {
    const { network, lease } = await holding();
    network.script(() => ({ fault: "request-lost" }));
    while (alarms().unanswered === 0) await world.time.advance(100);
    expect(lease.isHeld).toBe(true);
    expect(renewals.at(-1)?.remainingMs).toBeGreaterThan(LEASE_MS / 3);
    expect(alarms()).toEqual({ losses: 0, unanswered: 1, late: 0 });
  });

  it("fire for renewals more than a second late, after a blocked event loop but not a busy event loop", async () => {
    const { process } = await holding();
    const blocked = async (ms: number): Promise<void> => {
      const before = renewals.length;
      // Advances to the renewal's instant, and past it.
      while (renewals.length === before) await world.time.advance(10);
      await world.time.advance(LEASE_MS / 3 - LEASE_MS / 30);
      process.pause();
      await world.time.advance(LEASE_MS / 30 + ms);
      process.resume();
      await world.time.advance(100);
    };
    await blocked(500);
    expect(alarms()).toEqual(SILENT);
    await blocked(4_000);
    expect(alarms()).toMatchObject({ losses: 0, unanswered: 0, late: 1 });
  });
});

const KEY = { pk: { S: "lock#alarmed" }, sk: { S: "lease" } };
