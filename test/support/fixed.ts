import { Holdfast, type HoldfastError, type HoldfastOptions } from "../../src/index.js";
import type { TablePort } from "../../src/platform/table.js";
import { FaultyTable } from "../../src/testing/faults/faults.js";
import type { World } from "./world.js";

/** What a process without chance is made with. */
export interface FixedOptions extends Partial<Omit<HoldfastOptions, "client" | "table">> {
  /** What every draw of chance gives; 0.5, the default, leaves each pause as long as it was asked for. */
  readonly fraction?: number;
  /** What its requests go through on their way to the network. */
  readonly through?: (network: FaultyTable) => TablePort;
}

/** How many were made in each world: no two of them may draw the same id. */
const made = new WeakMap<World, number>();

/**
 * A process in a world whose chance is fixed, and whose requests take no time: what it does can be told
 * to the millisecond. `timersSet` counts every timer that its client has set.
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
    client: through?.(network) ?? network,
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
