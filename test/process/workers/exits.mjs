// Performs a single action and then has no further work, to show which actions keep the process alive.
import { locks, say, task } from "./common.mjs";

if (task.does === "hold") {
  const lease = await locks.mutex(task.name).acquire();
  say("held", { fence: String(lease.fence) });
} else {
  // A waiter behind a holder of the same process sends no requests: only the wait remains.
  if (task.does === "wait behind itself") await locks.mutex(task.name).acquire();
  locks
    .mutex(task.name)
    .acquire()
    .then(
      (lease) => say("acquired", { fence: String(lease.fence) }),
      (error) => say("rejected", { code: error.code }),
    );
}
