// Holds a lock and has no further work, or waits for the lock, with a ring that listens.
import { client, say, task } from "./common.mjs";

const { Holdfast, mutex } = await import("../../../packages/holdfast/dist/index.js");
const { ring } = await import("../../../packages/holdfast/dist/ring/index.js");

const locks = new Holdfast({ client, table: task.table, ring: ring({ host: "127.0.0.1" }) });
// The port is open in the next turn.
await new Promise((done) => setTimeout(done, 100));
const lock = mutex(locks, task.name);
if (task.does === "hold") {
  await lock.acquire({ lease: "10s" });
  say("held");
  // Long enough for the waiter to connect.
  await new Promise((done) => setTimeout(done, 3_000));
} else {
  const waiting = lock.acquire({ wait: "3s" });
  waiting.catch((error) => say("rejected", { code: error.code }));
  setTimeout(() => {
    const sockets = process._getActiveHandles().filter(({ remotePort }) => remotePort > 0);
    say("connected", { sockets: sockets.length });
  }, 500);
}
