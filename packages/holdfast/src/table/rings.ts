import { HoldfastError } from "../errors.js";
import { valueText } from "../internal/value-text.js";
import { systemClock } from "../platform/clock.js";
import { systemTimers } from "../platform/timers.js";
import { type Endpoint, endpointIn } from "../ring/options.js";
import { REACH_MS, type Reach, reach } from "../ring/reach.js";
import { type Finding, ok } from "./finding.js";

interface Place {
  readonly address: string;
  readonly endpoint: Endpoint;
}

/** Checks the addresses of clients with `ring()`. Throws `invalid-argument`. */
export function ringPlaces(addresses: readonly string[] = []): Place[] {
  if (!Array.isArray(addresses)) throw refuse(addresses);
  return addresses.map((address: unknown) => {
    const endpoint = typeof address === "string" ? endpointIn(address) : undefined;
    if (endpoint === undefined) throw refuse(address);
    return { address: address as string, endpoint };
  });
}

function refuse(value: unknown): HoldfastError {
  return new HoldfastError(
    "invalid-argument",
    `\`rings\` of diagnose() must be addresses such as "10.0.3.7:7420"; one is ${valueText(value)}.`,
  );
}

/** Finds out, for all addresses at once, whether this machine can ring the clients there. */
export function ringFindings(places: readonly Place[]): Promise<Finding[]> {
  return Promise.all(
    places.map(async ({ address, endpoint }) => {
      const nowMs = (): number => systemClock.monotonicMs();
      const { reach: found, openedMs } = await reach(endpoint, systemTimers, nowMs);
      const latencyMs = openedMs === undefined ? undefined : Math.round(openedMs);
      if (found === "client") {
        return ok("ring", `${address} answers as a client with ring() does.`, latencyMs);
      }
      const [what, fix] = TROUBLES[found];
      return {
        ...({ check: "ring", level: "problem", code: "unreachable", latencyMs, fix } as const),
        message: `${address} ${what}: this machine cannot ring a client there, and its waiters poll.`,
      };
    }),
  );
}

const START = "Start a process with ring() there, or correct the address.";
const OPEN =
  "Open the port between the two machines, or set `advertise` of ring() to an address that this machine reaches.";

const TROUBLES: Readonly<Record<Exclude<Reach, "client">, readonly [what: string, fix: string]>> = {
  refused: ["refuses connections", START],
  closes: ["closes each connection at once", `${START} A port mapping needs a process behind it.`],
  other: ["is a service of another kind", "Correct the address or the port."],
  silent: [`does not answer within ${REACH_MS / 1_000} s`, OPEN],
  unreachable: ["cannot be reached, or has no address", OPEN],
};
