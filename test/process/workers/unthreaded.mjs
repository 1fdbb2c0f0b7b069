// Acquires and releases a lock without a thread, and reports what of threads the process has used.

import { writeSync } from "node:fs";
import { createRequire, registerHooks, syncBuiltinESMExports } from "node:module";

const DIST = new URL("../../../packages/holdfast/dist/", import.meta.url).href;
const threads = createRequire(import.meta.url)("node:worker_threads");
const used = { workers: 0, buffers: 0, files: 0 };
threads.Worker = class extends threads.Worker {
  constructor(...args) {
    super(...args);
    used.workers += 1;
  }
};
syncBuiltinESMExports();
globalThis.SharedArrayBuffer = class extends SharedArrayBuffer {
  constructor(...args) {
    super(...args);
    used.buffers += 1;
  }
};
registerHooks({
  load(url, context, next) {
    if (url.startsWith(DIST)) used.files += 1;
    return next(url, context);
  },
});
const { locks, mutex, task } = await import("./common.mjs");
const lock = mutex(locks, task.name);
await lock.run(() => new Promise((resolve) => setTimeout(resolve, 500)));
await locks.close();
writeSync(1, `${JSON.stringify({ event: "used", ...used })}\n`);
