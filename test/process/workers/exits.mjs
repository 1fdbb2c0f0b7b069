// Performs a single action and then has no further work, to show which actions keep the process alive.
import { locks, mutex, say, task } from "./common.mjs";

if (task.does === "hold") {
  const lease = await mutex(locks, task.name).acquire();
  say("held", { fence: String(lease.fence) });
} else {
  // A waiter behind a holder of the same process sends no requests: only the wait remains.
  if (task.does === "wait behind itself") await mutex(locks, task.name).acquire();
  mutex(locks, task.name)
    .acquire()
    .then(
      (lease) => say("acquired", { fence: String(lease.fence) }),
      (error) => say("rejected", { code: error.code }),
    );
}
