import { AcquireContext } from "../../../packages/holdfast/src/core/acquire/context.js";
import { resolveClient } from "../../../packages/holdfast/src/core/client-settings.js";
import { closeAll } from "../../../packages/holdfast/src/core/hold/close.js";
import { resolveAcquire } from "../../../packages/holdfast/src/core/options.js";
import { SharedSession } from "../../../packages/holdfast/src/core/session/shared.js";
import { SharedState } from "../../../packages/holdfast/src/core/session/shared-state.js";
import type {
  StartThread,
  ThreadEvents,
} from "../../../packages/holdfast/src/core/session/thread-messages.js";
import { ThreadSide } from "../../../packages/holdfast/src/core/session/thread-side.js";
import type { HoldfastError } from "../../../packages/holdfast/src/index.js";
import { MUTEX, Mutex } from "../../../packages/holdfast/src/locks/mutex.js";
import { nativeFormat } from "../../../packages/holdfast/src/native/native.js";
import { schemaOf } from "../../../packages/holdfast/src/table/schema.js";
import { FaultyTable } from "../../../packages/testing/src/faults/faults.js";
import { DatedTable } from "../../../packages/testing/src/table/dated-table.js";
import type { MemoryTable } from "../../../packages/testing/src/table/memory-table.js";
import { seededRandom } from "../../../packages/testing/src/time/seeded-random.js";
import type { VirtualProcess } from "../../../packages/testing/src/time/virtual-process.js";
import type { VirtualTime } from "../../../packages/testing/src/time/virtual-time.js";

/** The time and the table of a client. */
export interface ClientWorld {
  readonly time: VirtualTime;
  readonly table: MemoryTable;
}

export interface ThreadedOptions {
  readonly leaseMs: number;
  readonly mayBlockMs: number;
  readonly seed?: number;
  /** Whether the first thread never runs. */
  readonly firstHangs?: boolean;
  /** Whether the threads run on although the main thread has ended them. */
  readonly outlive?: boolean;
  /** Whether only the answers to the threads have a `Date`. */
  readonly datesThreads?: boolean;
}

/** A thread of a client in a world. */
export interface MadeThread {
  readonly process: VirtualProcess;
  readonly network: FaultyTable;
  readonly state: SharedState;
  readonly events: ThreadEvents;
  /** Whether the main thread has ended the thread. */
  isEnded: boolean;
}

/**
 * A client with a renewing thread for its session, in virtual time. Both threads read the clocks of the same machine,
 * but have separate timers. A pause of the main thread is a blocked event loop; a pause of the renewing thread is a
 * hang.
 */
export function threadedClient(
  world: ClientWorld,
  {
    leaseMs,
    mayBlockMs,
    seed = 1,
    firstHangs = false,
    outlive = false,
    datesThreads = false,
  }: ThreadedOptions,
) {
  const main = world.time.process();
  const network = new FaultyTable(world.table, main);
  const random = seededRandom(seed);
  const reported: HoldfastError[] = [];
  const threads: MadeThread[] = [];
  const format = nativeFormat(schemaOf().keys);
  const client = { ...{ tableName: "locks", format }, clock: main.clock };
  const settings = resolveClient({ requestTimeout: 1_000 });
  const context = new AcquireContext(
    {
      ...{ ...client, table: network, timers: main.timers },
      ...{ random: random.fork(), report: (error: HoldfastError) => reported.push(error) },
    },
    settings,
  );
  const start: StartThread = async (begin, events) => {
    const process = world.time.process();
    const dated = new DatedTable(world.table, () => world.time.wallMs);
    const table = new FaultyTable(datesThreads ? dated : world.table, process);
    const made: MadeThread = {
      ...{ process, network: table, state: new SharedState(begin.buffer), events },
      isEnded: false,
    };
    threads.push(made);
    if (firstHangs && threads.length === 1) process.pause();
    const environment = { ...client, table, timers: process.timers, random: random.fork() };
    const side = new ThreadSide(begin, environment, (message) => {
      main.timers.set(0, false, () => events.onMessage(message));
    });
    process.timers.set(0, false, () => void side.prepare());
    return {
      post: (message) => {
        process.timers.set(0, false, () => side.receive(message));
      },
      end: () => {
        made.isEnded = true;
        if (!outlive) process.kill();
      },
    };
  };
  const clientOptions = { lease: leaseMs };
  const shared = new SharedSession(context, resolveAcquire([clientOptions], "threaded"), {
    ...{ mayBlockMs, start, clock: main.clock },
  });
  const running = new Set<never>();
  const parts = { context, clientOptions, defaultOwner: "threaded", shared, running };
  const mutex = (name: string) => new Mutex(MUTEX, parts, name, undefined);
  const close = () => closeAll(context);
  return { main, network, context, parts, reported, threads, mutex, close };
}
