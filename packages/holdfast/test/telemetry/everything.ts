import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { untilTold } from "../../../../test/support/election.js";
import { type Inhabitant, World } from "../../../../test/support/world.js";
import { assign } from "../../src/assign/index.js";
import { election, leaderTasks } from "../../src/election/index.js";
import { fairLock, mutex, openSession, semaphore } from "../../src/index.js";
import { schedule } from "../../src/schedule/index.js";

const LENGTHS = { lease: 3_000, renew: 1_000 } as const;

/** Runs a simulation with every kind of event on the channels: grants, ends, failures and terms. */
export async function everythingHappens(): Promise<void> {
  const world = new World();
  const one = world.inhabitant({ ...LENGTHS, owner: "one" });
  const two = world.inhabitant({ ...LENGTHS, owner: "two" });
  const noted = (): undefined => undefined;

  const first = await world.until(mutex(one.locks, "a").acquire());
  const second = mutex(one.locks, "a").acquire();
  await world.until(first.release());
  const handedOver = await world.until(second);
  await world.until(mutex(two.locks, "a").acquire({ wait: "500ms" }).catch(noted));
  await world.time.advance(1_500);
  await world.until(handedOver.release());

  const session = await world.until(openSession(one.locks));
  await world.time.advance(1_500);
  await world.until(session.close());

  const long = await world.until(mutex(one.locks, "a").acquire({ maxHold: "2s" }));
  await world.time.advance(1_900);
  await world.until(long.release());

  // Its renewals get no answer; the lease is lost, and the other client takes over.
  await world.until(mutex(one.locks, "b").acquire());
  one.network.script(() => ({ fault: "request-lost", unknownAfterMs: 50 }));
  const taken = await world.until(mutex(two.locks, "b").acquire());
  await world.until(taken.release());

  // The event loop stops beyond the lease's deadline.
  await world.until(mutex(two.locks, "c").acquire());
  two.process.pause();
  await world.time.advance(5_000);
  two.process.resume();
  await world.time.advance(100);

  await queuesHappen(world);
  await limitsDiffer(world);
  await electionsHappen(world);
  await schedulesHappen(world);
  await assignmentsHappen(world);
}

async function queuesHappen(world: World): Promise<void> {
  const [first, second, third] = ["first", "second", "third"].map((owner) =>
    world.inhabitant({ ...LENGTHS, owner }),
  ) as [Inhabitant, Inhabitant, Inhabitant];
  const held = await world.until(fairLock(first.locks, "q").acquire());
  const next = fairLock(second.locks, "q").acquire();
  await world.time.advance(1_000);
  const last = fairLock(third.locks, "q").acquire();
  await world.time.advance(2_000);
  // The process sleeps for longer than its place in the queue lasts.
  third.process.pause();
  await world.time.advance(5_000);
  third.process.resume();
  await world.time.advance(1_000);
  await world.until(held.release());
  await world.until((await world.until(next)).release());
  await world.until((await world.until(last)).release());
}

async function limitsDiffer(world: World): Promise<void> {
  for (const permits of [2, 3]) {
    const { locks } = world.inhabitant({ ...LENGTHS, owner: `of ${permits}` });
    const permit = await world.until(semaphore(locks, "s", { permits }).acquire());
    await world.until(permit.release());
    await world.until(locks.close());
  }
}

async function schedulesHappen(world: World): Promise<void> {
  const [one, two] = [world.inhabitant({ owner: "one" }), world.inhabitant({ owner: "two" })];
  let run = async ({ attempt }: { readonly attempt: number }): Promise<void> => {
    if (attempt === 1) throw new Error("no");
  };
  const options = { every: "1h", retries: 2 } as const;
  schedule(one.locks, "hourly", options, (one) => run(one)).start();
  await world.time.advance(3_700_000);
  run = () => new Promise(() => undefined);
  await world.time.advance(3_600_000);
  one.process.kill();
  schedule(two.locks, "hourly", options, () => undefined).start();
  await world.time.advance(200_000);
}

async function assignmentsHappen(world: World): Promise<void> {
  const [one, two] = [world.inhabitant({ owner: "one" }), world.inhabitant({ owner: "two" })];
  const run = (name: string): Promise<void> =>
    name === "bad" ? Promise.reject(new Error("no")) : new Promise(() => undefined);
  const options = { names: ["a", "b", "bad"], run };
  const first = assign(one.locks, "work", options);
  await world.until(first.start());
  const second = assign(two.locks, "work", { ...options, weight: 2 });
  await world.until(second.start());
  await world.time.advance(60_000);
  // What it has is lost with its session, and found out after the pause.
  one.process.pause();
  await world.time.advance(60_000);
  one.process.resume();
  await world.time.advance(100);
  await world.until(second.stop());
}

async function electionsHappen(world: World): Promise<void> {
  const leader = world.inhabitant({ owner: "leader" });
  const standby = world.inhabitant({ owner: "standby" });
  const runs = { quick: () => undefined, failing: () => Promise.reject(new Error("no")) };
  const coordinator = leaderTasks(leader.locks, {
    name: "pool",
    tasks: [
      { name: "quick", every: "10s", run: runs.quick },
      { name: "failing", every: "10s", run: runs.failing },
      { name: "hanging", every: "10s", run: () => new Promise(() => undefined) },
    ],
  });
  coordinator.start();
  await world.time.advance(5_000);
  election(standby.locks, "pool")
    .lead(untilTold)
    .catch(() => undefined);
  await world.time.advance(60_000);
  leader.network.script(() => ({ fault: "request-lost", unknownAfterMs: 50 }));
  await world.time.advance(180_000);
  await world.until(standby.locks.close());
}

/** Collects the messages on these channels while `work` runs. */
export async function heardWhile(
  channels: readonly string[],
  work: () => Promise<void>,
): Promise<{ readonly channel: string; readonly message: object }[]> {
  const heard: { channel: string; message: object }[] = [];
  const ends = channels.map((channel) => {
    const note = (message: unknown): void =>
      void heard.push({ channel, message: message as object });
    subscribe(channel, note);
    return () => unsubscribe(channel, note);
  });
  try {
    await work();
  } finally {
    for (const end of ends) end();
  }
  return heard;
}
