// Holds a lock until killed.
import { locks, mutex, say, task } from "./common.mjs";

const lease = await mutex(locks, task.name).acquire();
say("held", { fence: String(lease.fence) });
setInterval(() => undefined, 1000);
