/** One worker of the demo: a process that takes the lock, writes a few lines, and does so again. */
import { Holdfast, isHoldfastError, type Lease, type Lock, mutex } from "holdfast";
import { isoTimeOf, sleep, systemClock, systemTimers } from "holdfast/internal";
import { tableOf } from "../connection.js";
import { failureOf } from "../output/exit-codes.js";
import { appendEntry } from "./ledger.js";
import type { FromWorker, ToWorker, WorkerSetup } from "./messages.js";

const LINES_PER_HOLD = 4;
const BETWEEN_LINES_MS = 120;
// Longer than the pause between two polls of another worker, so that the lock passes between workers.
const BETWEEN_HOLDS_MS = 250;

const setup = JSON.parse(process.argv[2] ?? "{}") as WorkerSetup;
const finishing = new AbortController();

process.removeAllListeners("warning");
// Without the director process there is no output.
process.on("disconnect", () => process.exit(0));
process.on("message", (message: ToWorker) => {
  if (message.kind === "finish") finishing.abort();
  else void work().then(leave, failed);
});
tell({ kind: "ready" });

async function work(): Promise<void> {
  const { leaseMs: lease, worker: owner } = setup;
  const poll = { min: "50ms", max: "200ms" };
  const { client, table, keys } = await tableOf(setup);
  await using locks = new Holdfast({ client, table, keys, lease, poll, owner });
  const lock = mutex(locks, setup.lock);
  while (!finishing.signal.aborted) {
    await holdOnce(lock);
    await sleep(systemTimers, BETWEEN_HOLDS_MS, true);
  }
}

async function holdOnce(mutex: Lock): Promise<void> {
  const wait = Number.POSITIVE_INFINITY;
  const lease = await mutex.acquire({ wait, signal: finishing.signal }).catch((error: unknown) => {
    if (finishing.signal.aborted) return undefined;
    throw error;
  });
  if (lease === undefined) return;
  const fence = lease.fence.toString();
  tell({ kind: "acquired", fence });
  try {
    await writeLines(lease);
    await lease.release();
    tell({ kind: "released", fence, count: LINES_PER_HOLD });
  } catch (error) {
    if (!isHoldfastError(error, "lost")) throw error;
    tell({ kind: "held back", fence, reason: error.reason ?? "lost" });
  }
}

async function writeLines(lease: Lease): Promise<void> {
  const fence = lease.fence.toString();
  for (let count = 1; count <= LINES_PER_HOLD; count += 1) {
    // The only line that `--break` removes.
    if (!setup.isBroken) lease.assertHeld();
    appendEntry(setup.ledger, {
      name: lease.name,
      fence,
      worker: setup.worker,
      pid: process.pid,
      monotonicNs: process.hrtime.bigint().toString(),
      at: isoTimeOf(systemClock.wallMs()),
    });
    tell({ kind: "wrote", fence, count });
    await sleep(systemTimers, BETWEEN_LINES_MS, true);
  }
}

function tell(message: FromWorker): void {
  // Once the director has gone nobody hears, and the "disconnect" ends this process.
  process.send?.(message, undefined, undefined, () => undefined);
}

function leave(): void {
  process.disconnect();
}

function failed(error: unknown): void {
  const { code, message } = failureOf(error);
  tell({ kind: "failed", code, message });
}
