/**
 * What the commands do. Loaded, with the library and the SDK, only once a command runs: help, the version and
 * wrong usage are answered without them. Commands that need a further peer are loaded on their own.
 */
export { cost } from "./cost.js";
export { doctor } from "./doctor.js";
export { elect } from "./elect.js";
export { forceRelease } from "./force-release.js";
export { history } from "./history.js";
export { inspect } from "./inspect.js";
export { leader } from "./leader.js";
export { lock } from "./lock.js";
export { ls } from "./ls.js";
export { policy } from "./policy.js";
export { queue } from "./queue.js";
export { release } from "./release.js";
export { resign } from "./resign.js";
export { sessions } from "./sessions.js";
export { check as checkTable, create as createTable } from "./table.js";
export { watch } from "./watch.js";
