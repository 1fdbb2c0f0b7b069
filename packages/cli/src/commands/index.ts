/**
 * The implementations of the commands. Loaded, with the library and the SDK, only when a command runs: help, the
 * version and usage errors need neither. A command that needs another peer dependency is loaded separately.
 */
export { assignment } from "./assignment.js";
export { coalesce } from "./coalesce.js";
export { cost } from "./election/cost.js";
export { elect } from "./election/elect.js";
export { leader } from "./election/leader.js";
export { resign } from "./election/resign.js";
export { forceRelease } from "./force-release.js";
export { history } from "./history.js";
export { inspect } from "./inspect.js";
export { interrupt } from "./interrupt.js";
export { lock } from "./lock.js";
export { ls } from "./ls.js";
export { queue } from "./queue.js";
export { release } from "./release.js";
export { semaphore, setLimit } from "./semaphore.js";
export { sessions } from "./sessions.js";
export { diagnose } from "./table/diagnose.js";
export { diagnoseEngine } from "./table/diagnose-engine.js";
export { policy } from "./table/policy.js";
export { check as checkTable, create as createTable } from "./table/table.js";
export { watch } from "./watch.js";
