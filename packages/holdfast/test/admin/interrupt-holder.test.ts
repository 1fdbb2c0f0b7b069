import { describe, expect, it } from "vitest";
import { expectErrorToBe } from "../../../../test/support/errors.js";
import { type Inhabitant, type InhabitantOptions, World } from "../../../../test/support/world.js";
import { forceRelease, interruptHolder } from "../../src/admin/index.js";
import {
  fairLock,
  inspect,
  type Lease,
  lossSignal,
  mutex,
  sharedSession,
} from "../../src/index.js";
import { interrupt } from "../../src/requests/index.js";

const LEASE_MS = 3_000;
const LENGTHS = { lease: LEASE_MS, renew: 1_000 } as const;
const WHY = { by: "alice", reason: "it hangs" } as const;

function scene(options: InhabitantOptions = {}) {
  const world = new World();
  const holder = world.inhabitant({ ...LENGTHS, owner: "worker", ...options });
  return { world, holder, operator: world.inhabitant({ ...LENGTHS, owner: "operator" }) };
}

const held = ({ world, holder }: ReturnType<typeof scene>): Promise<Lease> =>
  world.until(mutex(holder.locks, "a").acquire());

/** A holder whose lock has moved to the client's session. */
async function sceneOnSession() {
  const stage = scene({ sharedSession: sharedSession() });
  // Opens the session, which stays alive with this lock.
  await stage.world.until(mutex(stage.holder.locks, "other").acquire());
  await stage.world.time.advance(2 * LEASE_MS);
  const lease = await held(stage);
  await stage.world.time.advance(2_000);
  expect(stage.world.record("a")?.["session"]).toBeDefined();
  return { ...stage, lease };
}

function sentBy({ network }: Inhabitant): string[] {
  const sent: string[] = [];
  network.script(({ kind }) => {
    sent.push(kind);
    return undefined;
  });
  return sent;
}

describe("interruptHolder()", () => {
  it("asks the holder, which stops at its next renewal, for a read and a write", async () => {
    const stage = scene();
    const { world, operator } = stage;
    const lease = await held(stage);
    const sent = sentBy(operator);
    const asked = await world.until(interruptHolder(operator.locks, "a"));
    expect(asked).toEqual({ holder: lease.holder, owner: "worker" });
    expect(sent).toEqual(["read", "write"]);
    await world.time.advance(1_050);
    expectErrorToBe(lease.signal.reason, {
      code: "interrupted",
      lockName: "a",
      mentions: ["operator"],
    });
    expect(lossSignal(lease).aborted).toBe(false);
    expect(sent).toEqual(["read", "write"]);
  });

  it("notifies the session of the holder, for a second write", async () => {
    const { world, operator, lease } = await sceneOnSession();
    const sent = sentBy(operator);
    const asked = await world.until(interruptHolder(operator.locks, "a", { by: "alice" }));
    expect(asked?.holder).toBe(lease.holder);
    expect(sent).toEqual(["read", "write", "write"]);
    await world.time.advance(1_100);
    expectErrorToBe(lease.signal.reason, {
      code: "interrupted",
      lockName: "a",
      mentions: ["alice"],
    });
  });

  it.each([
    [
      "with its own renewals",
      async () => {
        const stage = scene();
        return { ...stage, lease: await held(stage) };
      },
    ],
    ["on a session", sceneOnSession],
  ] as const)("tells a holder of this client %s at once", async (_, staged) => {
    const { world, holder, lease } = await staged();
    const sent = sentBy(holder);
    const asking = interruptHolder(holder.locks, "a");
    await world.until(asking);
    expect(lease.signal.reason).toMatchObject({ code: "interrupted" });
    expect(sent.filter((kind) => kind === "write")).toHaveLength(1);
  });

  it("asks no one if the lock is free, for a read", async () => {
    const { world, operator } = scene();
    const sent = sentBy(operator);
    expect(await world.until(interruptHolder(operator.locks, "a"))).toBeUndefined();
    expect(sent).toEqual(["read"]);
  });

  it("asks no one if the holder releases between the read and the write, also not the next", async () => {
    const stage = scene();
    const { world, holder, operator } = stage;
    const lease = await held(stage);
    const next: Promise<Lease>[] = [];
    operator.network.script(({ kind }) => {
      if (kind === "write" && next.length === 0) {
        next.push(lease.release().then(() => mutex(holder.locks, "a").acquire()));
        return { fault: "reordered", delayMs: 500 };
      }
      return undefined;
    });
    expect(await world.until(interruptHolder(operator.locks, "a"))).toBeUndefined();
    const after = await world.until(next[0] as Promise<Lease>);
    await world.time.advance(2_000);
    expect(after.signal.aborted).toBe(false);
  });

  it("counts as asked after a stronger request, which it leaves in the record", async () => {
    const stage = scene();
    const { world, operator } = stage;
    const lease = await held(stage);
    await world.until(forceRelease(operator.locks, "a", { ...WHY, wait: 0 }));
    const asked = await world.until(interruptHolder(operator.locks, "a"));
    expect(asked?.holder).toBe(lease.holder);
    await world.time.advance(1_050);
    expect(lease.signal.reason).toMatchObject({ code: "lost", reason: "released-by-force" });
  });

  it("frees nothing of a dead holder", async () => {
    const stage = scene();
    const { world, holder, operator } = stage;
    const { holder: id } = await held(stage);
    holder.process.kill();
    await world.time.advance(60_000);
    expect(await world.until(interruptHolder(operator.locks, "a"))).toMatchObject({ holder: id });
    expect((await world.until(inspect(operator.locks, "a"))).holder).toBe(id);
  });

  it("supersedes no waiter that interrupts", async () => {
    const stage = scene();
    const { world, operator } = stage;
    const lease = await held(stage);
    lease.signal.addEventListener("abort", () => void lease.release(), { once: true });
    const rival = world.inhabitant(LENGTHS);
    const waiting = mutex(rival.locks, "a").acquire({ ifHeld: interrupt });
    await world.time.advance(100);
    await world.until(interruptHolder(operator.locks, "a"));
    expect((await world.until(waiting)).fence > lease.fence).toBe(true);
  });

  it("asks the holder of a fair lock by its namespace", async () => {
    const { world, holder, operator } = scene();
    const lease = await world.until(fairLock(holder.locks, "a", { namespace: "x" }).acquire());
    expect(await world.until(interruptHolder(operator.locks, "a"))).toBeUndefined();
    const asked = await world.until(interruptHolder(operator.locks, "a", { namespace: "x" }));
    expect(asked?.holder).toBe(lease.holder);
  });

  it("sends a write without an answer again, then says what is not known", async () => {
    const stage = scene();
    const { world, operator } = stage;
    await held(stage);
    operator.network.script(({ kind }) =>
      kind === "write" ? { fault: "response-lost" } : undefined,
    );
    const failed = interruptHolder(operator.locks, "a").catch((error: unknown) => error);
    expectErrorToBe((await world.until(failed)) as Error, {
      code: "unreachable",
      lockName: "a",
      mentions: ["may not have been interrupted"],
    });
  });

  it("ends with its signal, and with the client", async () => {
    const stage = scene();
    const { world, operator } = stage;
    await held(stage);
    const reason = new Error("enough");
    const ended = interruptHolder(operator.locks, "a", { signal: AbortSignal.abort(reason) });
    await expect(ended).rejects.toBe(reason);
    operator.network.script(() => ({ fault: "request-lost" }));
    const failed = interruptHolder(operator.locks, "a").catch((error: unknown) => error);
    await world.time.advance(100);
    void operator.locks.close();
    expectErrorToBe((await world.until(failed)) as Error, {
      code: "closed",
      lockName: "a",
      mentions: ["may not have been interrupted"],
    });
  });

  it.each(["read", "write"] as const)(
    "ends at once with its signal while DynamoDB does not answer its %s",
    async (kind) => {
      const stage = scene();
      const { world, operator } = stage;
      await held(stage);
      operator.network.script((request) =>
        request.kind === kind ? { fault: "request-lost" } : undefined,
      );
      const controller = new AbortController();
      const { signal } = controller;
      const ended = interruptHolder(operator.locks, "a", { signal }).catch(
        (error: unknown) => error,
      );
      await world.time.advance(100);
      controller.abort("enough");
      const fromMs = world.time.nowMs;
      expect(await world.until(ended)).toBe("enough");
      expect(world.time.nowMs).toBe(fromMs);
    },
  );

  it.each([
    ["an empty label", { by: "" }],
    ["a label of more than 1,000 characters", { by: "x".repeat(1_001) }],
    ["a kind", { kind: "leader" }],
    ["a wait", { wait: 1 }],
  ])("refuses %s", async (_, options) => {
    const { operator } = scene();
    await expect(interruptHolder(operator.locks, "a", options as object)).rejects.toMatchObject({
      code: "invalid-argument",
    });
  });
});
