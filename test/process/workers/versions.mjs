// One process of a chosen version of the package (`task.library`), in the role that the task names.
import { all, election, fairLock, locks, mutex, once, say, task } from "./common.mjs";

const LENGTHS = { lease: "2s", renew: "500ms", poll: "200ms" };

const forever = () => setInterval(() => undefined, 1000);

/** Holds a lock, or leads, until it is killed. */
async function hold(acquire) {
  say("asks");
  const lease = await acquire();
  say("held", {
    fence: String(lease.fence ?? lease.parts?.[0].fence ?? lease.fences.get(task.name)),
  });
  forever();
}

const ROLES = {
  mutex: () => hold(() => mutex(locks, task.name).acquire({ data: { by: task.version } })),
  fairLock: () => hold(() => fairLock(locks, task.name).acquire()),
  multiLock: () => hold(() => all(locks, [task.name, `${task.name}/2`]).acquire()),
  leader: () => hold(() => election(locks, task.name, LENGTHS).campaign()),
  async waiter() {
    const waiting = fairLock(locks, task.name).run(async (lease) => String(lease.fence));
    say("waiting");
    say("served", { fence: await waiting });
    await locks.close();
  },
  async once() {
    const result = await once(locks, task.name, { occurrence: task.occurrence }, async () => 1);
    say("once", { ran: result.ran });
    await locks.close();
  },
};

await ROLES[task.role]();
