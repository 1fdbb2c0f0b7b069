// Runs the worker `threaded` in a worker thread.
import { Worker } from "node:worker_threads";

new Worker(new URL("threaded.mjs", import.meta.url), { argv: [process.argv[2]] });
