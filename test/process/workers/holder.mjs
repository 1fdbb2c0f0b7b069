// Holds a lock until killed.
import { locks, say, task } from "./common.mjs";

const lease = await locks.mutex(task.name).acquire();
say("held", { fence: String(lease.fence) });
setInterval(() => undefined, 1000);
