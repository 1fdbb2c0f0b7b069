import {
  Holdfast,
  type HoldfastError,
  type HoldfastOptions,
} from "../../packages/holdfast/src/index.js";
import type { TablePort } from "../../packages/holdfast/src/platform/table.js";
import { FaultyTable } from "../../packages/testing/src/faults/faults.js";
import type { World } from "./world.js";

/** The options of a process without randomness. */
export interface FixedOptions extends Partial<Omit<HoldfastOptions, "client" | "table">> {
  /** The result of every random draw; with 0.5, the default, each pause has its nominal length. */
  readonly fraction?: number;
  /** Replaces operations of the table. It then has no transactions, unless they are among these. */
  readonly through?: (network: FaultyTable) => Partial<TablePort>;
}

function operationsOf(network: FaultyTable): TablePort {
  return {
    clockCorrectionMs: 0,
    read: network.read.bind(network),
    scan: network.scan.bind(network),
    query: network.query.bind(network),
    write: network.write.bind(network),
  };
}

/** The number of processes in each world: no two processes may draw the same id. */
const made = new WeakMap<World, number>();

/**
 * A process in a world with fixed randomness and without request latency, so that its behaviour is exact to the
 * millisecond. `timersSet` counts every timer that its client sets.
 */
export function fixedProcess(world: World, options: FixedOptions = {}) {
  const { fraction = 0.5, through, ...rest } = options;
  const process = world.time.process();
  const network = new FaultyTable(world.table, process);
  const reported: HoldfastError[] = [];
  const nth = (made.get(world) ?? 0) + 1;
  made.set(world, nth);
  let ids = 0;
  let timers = 0;
  const locks = new Holdfast({
    // Not a copy, which would read a getter once.
    client:
      through === undefined
        ? network
        : Object.setPrototypeOf(through(network), operationsOf(network)),
    table: "locks",
    onError: (error) => reported.push(error),
    ...rest,
    environment: {
      clock: process.clock,
      timers: {
        set: (...given) => {
          timers += 1;
          return process.timers.set(...given);
        },
      },
      random: {
        fraction: () => fraction,
        id: () => {
          ids += 1;
          return `id ${ids} of ${nth}`;
        },
      },
    },
  });
  return { process, network, reported, locks, timersSet: () => timers };
}
