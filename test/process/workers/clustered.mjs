// The primary of a cluster, whose processes each run the worker `threaded` for a lock of their own.
import cluster from "node:cluster";

if (cluster.isPrimary) {
  const task = JSON.parse(process.argv[2]);
  for (const name of task.names) {
    cluster.setupPrimary({ args: [JSON.stringify({ ...task, name })] });
    cluster.fork();
  }
} else {
  await import("./threaded.mjs");
  // The channel to the primary keeps the process alive.
  process.disconnect();
}
