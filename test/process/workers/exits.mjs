// Does one thing, and then has nothing more to do: what holds the process?
import { locks, say, task } from "./common.mjs";

if (task.does === "hold") {
  const lease = await locks.mutex(task.name).acquire();
  say("held", { fence: String(lease.fence) });
} else {
  // In the line of a process that has the lock itself, a waiter talks to nobody: only its wait is left.
  if (task.does === "wait behind itself") await locks.mutex(task.name).acquire();
  locks
    .mutex(task.name)
    .acquire()
    .then(
      (lease) => say("acquired", { fence: String(lease.fence) }),
      (error) => say("rejected", { code: error.code }),
    );
}
