import { spawn } from "node:child_process";
import { fstatSync } from "node:fs";

const STDOUT = 1;

/**
 * Calls back once when the reader of stdout has gone. Returns a function that ends the observation.
 *
 * Node cannot poll a pipe that it only writes to, so GNU `tail` does it: it prints nothing, and dies of SIGPIPE within
 * about a second. `--pid` ends it after this process, so that it never keeps the pipe open for the reader. Without GNU
 * `tail`, and for other kinds of output, no event arrives: only the next output shows that the reader has gone.
 */
export function onReaderGone(callback: () => void): () => void {
  if (process.platform !== "linux" || !fstatSync(STDOUT).isFIFO()) return () => undefined;
  const tail = spawn("tail", ["-f", `--pid=${process.pid}`, "/dev/null"], {
    stdio: ["ignore", "inherit", "ignore"],
  });
  tail.on("error", () => undefined);
  tail.on("exit", (_, signal) => {
    if (signal === "SIGPIPE") callback();
  });
  // The `tail` process must not keep this process running.
  tail.unref();
  return () => void tail.kill();
}
