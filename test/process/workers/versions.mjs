// One process of a chosen version of the package (`task.library`), in the role that the task names.
import { locks, say, task } from "./common.mjs";

const LENGTHS = { lease: "2s", renew: "500ms", poll: "200ms" };

const forever = () => setInterval(() => undefined, 1000);

/** Holds a lock, or leads, until it is killed. */
async function hold(acquire) {
  say("asks");
  const lease = await acquire();
  say("held", { fence: String(lease.fence ?? lease.fences.get(task.name)) });
  forever();
}

const ROLES = {
  mutex: () => hold(() => locks.mutex(task.name).acquire({ data: { by: task.version } })),
  fairLock: () => hold(() => locks.fairLock(task.name).acquire()),
  multiLock: () => hold(() => locks.multiLock([task.name, `${task.name}/2`]).acquire()),
  leader: () => hold(() => locks.election(task.name, LENGTHS).campaign()),
  async waiter() {
    const waiting = locks.fairLock(task.name).run(async (lease) => String(lease.fence));
    say("waiting");
    say("served", { fence: await waiting });
    await locks.close();
  },
  async once() {
    const result = await locks.once(task.name, { occurrence: task.occurrence }, async () => 1);
    say("once", { ran: result.ran });
    await locks.close();
  },
};

await ROLES[task.role]();
