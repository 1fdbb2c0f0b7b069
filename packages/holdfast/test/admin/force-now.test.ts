import { describe, expect, it } from "vitest";
import { type Inhabitant, World } from "../../../../test/support/world.js";
import { holds } from "../../../testing/src/table/interpret.js";
import { forceRelease } from "../../src/admin/index.js";
import {
  condition,
  type HoldfastError,
  type Lease,
  mutex,
  sharedSession,
} from "../../src/index.js";
import { nativeFormat } from "../../src/native/native.js";
import { compileCondition } from "../../src/platform/dynamodb/expressions.js";

const RENEW_MS = 1_000;
const LENGTHS = {
  lease: 3_000,
  renew: RENEW_MS,
  wait: Number.POSITIVE_INFINITY,
  poll: { min: "50ms", max: "200ms" },
} as const;
const native = nativeFormat({ pk: "pk", sk: "sk" });
const REF = native.codec.refOf("lock", "a");

/** Whether a transaction with the lease's condition would commit now. */
function commits(world: World, lease: Lease): boolean {
  const required = native.lease.heldCondition({ holder: lease.holder, fence: lease.fence }, REF);
  expect(condition(lease).ConditionCheck.ConditionExpression).toBe(compileCondition(required).text);
  return holds(required, world.record("a"));
}

/** Contenders that hold the lock until their signal aborts, and write all the while, guarded. */
class Crowd {
  readonly world = new World();
  readonly held = new Set<Lease>();
  readonly committed: bigint[] = [];
  readonly endings = new Map<string, { readonly atMs: number; readonly error: HoldfastError }>();
  refused = 0;
  /** The number of checks at which two contenders believed to hold. */
  overlaps = 0;
  isOver = false;

  readonly ends: Promise<unknown>[];

  constructor(size: number, options: object = {}) {
    const crowd = Array.from({ length: size }, () =>
      this.world.inhabitant({ ...LENGTHS, ...options }),
    );
    this.ends = crowd.map((one) => this.#contends(one));
  }

  async #contends({ locks, process }: Inhabitant): Promise<void> {
    while (!this.isOver) {
      const lease = await mutex(locks, "a").acquire();
      this.held.add(lease);
      lease.signal.addEventListener("abort", () => {
        const error = lease.signal.reason as HoldfastError;
        this.endings.set(lease.holder, { atMs: this.world.time.nowMs, error });
      });
      while (lease.isHeld && !this.isOver) {
        this.#writes(lease);
        await new Promise<void>((resolve) => process.timers.set(20, true, resolve));
      }
      // Work from before the abort continues for a while.
      this.#writes(lease);
      this.held.delete(lease);
      await lease.release().catch(() => undefined);
    }
  }

  #writes(lease: Lease): void {
    if ([...this.held].filter(({ isHeld }) => isHeld).length > 1) this.overlaps += 1;
    if (commits(this.world, lease)) this.committed.push(lease.fence);
    else this.refused += 1;
  }

  /** The holder that the record names. */
  holder(): Lease | undefined {
    return [...this.held].find((lease) => commits(this.world, lease));
  }
}

describe("forced releases with now, under load", () => {
  it.each([
    ["renew themselves", {}],
    ["live by sessions", { sharedSession: sharedSession() }],
  ])(
    "tell each victim who and why at its next renewal, and refuse its guarded writes: holders that %s",
    async (_how, options) => {
      const crowd = new Crowd(5, options);
      const { world } = crowd;
      const operator = world.inhabitant();
      const victims: { readonly lease: Lease; readonly atMs: number; readonly reason: string }[] =
        [];
      for (let turn = 0; turn < 30; turn += 1) {
        while (crowd.holder() === undefined) await world.time.advance(10);
        await world.time.advance(400 + 77 * (turn % 10));
        const lease = crowd.holder() as Lease;
        const reason = `turn ${turn}`;
        const forced = forceRelease(operator.locks, "a", { by: "alice", reason, now: true });
        const { holder } = await world.until(forced);
        expect(holder).toBe(lease.holder);
        victims.push({ lease, atMs: world.time.nowMs, reason });
        expect(commits(world, lease)).toBe(false);
        await world.time.advance(1.2 * RENEW_MS);
        expect(commits(world, lease)).toBe(false);
      }
      for (const { lease, atMs, reason } of victims) {
        const ending = crowd.endings.get(lease.holder);
        expect(ending?.error).toMatchObject({ code: "lost", reason: "released-by-force" });
        expect(ending?.error.message).toContain("alice");
        expect(ending?.error.message).toContain(reason);
        // A renewal's period and answer.
        expect((ending?.atMs ?? Number.NaN) - atMs).toBeLessThanOrEqual(RENEW_MS + 10);
      }
      crowd.isOver = true;
      await world.until(Promise.all(crowd.ends));
      // As `now` warns: two acted at once, and only the record's holder could write.
      expect(crowd.overlaps).toBeGreaterThan(10);
      expect(crowd.refused).toBeGreaterThan(victims.length);
      expect(crowd.committed).toEqual(
        crowd.committed.toSorted((a, b) => (a < b ? -1 : a > b ? 1 : 0)),
      );
      expect(new Set(crowd.committed).size).toBeGreaterThanOrEqual(victims.length);
    },
  );

  it("report the loss to the first of two victims within one renewal, without the operator's name", async () => {
    const world = new World();
    const [one, two, operator] = [0, 1, 2].map(() => world.inhabitant(LENGTHS)) as [
      Inhabitant,
      Inhabitant,
      Inhabitant,
    ];
    const first = await world.until(mutex(one.locks, "a").acquire());
    const second = mutex(two.locks, "a").acquire();
    await world.until(forceRelease(operator.locks, "a", { reason: "once", now: true }));
    await world.until(second);
    await world.until(forceRelease(operator.locks, "a", { reason: "again", now: true }));
    await world.time.advance(1.1 * RENEW_MS);
    expect(first.signal.reason).toMatchObject({ code: "lost", reason: "released-elsewhere" });
    expect((await second).signal.reason).toMatchObject({ reason: "released-by-force" });
  });
});
