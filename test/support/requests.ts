import {
  type Fault,
  type FaultRequest,
  keyOf,
} from "../../packages/testing/src/faults/fault-plan.js";
import type { FaultyTable } from "../../packages/testing/src/faults/faults.js";
import type { World } from "./world.js";

/** A request of a process, by true time. */
export interface Made {
  readonly atMs: number;
  readonly kind: FaultRequest["kind"];
  /** The key's first part, such as `lock#a`; undefined for a request about several items. */
  readonly of: string | undefined;
  /** Whether a read was strongly consistent. */
  readonly isStrong: boolean;
}

/** The later requests of a process, and their faults. */
export interface Requests {
  readonly made: Made[];
  /** Called for every request; undefined for no fault. */
  fault: (request: Made) => Fault | undefined;
  /** When each write to this record was sent. */
  writesTo(of: string): number[];
}

/** Lists the later requests of a process. Replaces the network's script. */
export function requestsOf(world: World, network: FaultyTable): Requests {
  const made: Made[] = [];
  const requests: Requests = {
    made,
    fault: () => undefined,
    writesTo: (of) => made.filter((one) => one.kind === "write" && one.of === of).map(atMsOf),
  };
  network.script((request) => {
    const one = describe(request, world.time.nowMs);
    made.push(one);
    return requests.fault(one);
  });
  return requests;
}

const atMsOf = ({ atMs }: Made): number => atMs;

function describe(request: FaultRequest, atMs: number): Made {
  const isStrong = request.kind === "read" && request.read.consistent;
  const pk = keyOf(request)?.["pk"];
  const of = pk !== undefined && "S" in pk ? pk.S : undefined;
  return { atMs, kind: request.kind, of, isStrong };
}
