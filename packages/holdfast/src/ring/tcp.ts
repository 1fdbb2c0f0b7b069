import { type AddressInfo, connect, isIPv6, type ListenOptions } from "node:net";
import { networkInterfaces } from "node:os";
import { addressOf, endpointIn, type Listening } from "./options.js";
import type { Sockets } from "./sockets.js";

const WILDCARDS = ["0.0.0.0", "::"];

/** Rings over TCP. `listening` undefined: nobody can ring the client. */
export function tcpSockets(listening: Listening | undefined): Sockets {
  return {
    places: () => (listening === undefined ? [] : placesOf(listening)),
    addressOf: (server) => {
      const bound = server.address() as AddressInfo;
      const { host, port = bound.port } = listening?.advertised ?? {
        host: WILDCARDS.includes(bound.address) ? outwardHost(bound.address) : bound.address,
      };
      return addressOf({ host, port });
    },
    connect: (address) => {
      const endpoint = endpointIn(address);
      return endpoint && connect({ ...endpoint });
    },
  };
}

function placesOf({ host, firstPort, lastPort }: Listening): ListenOptions[] {
  const count = lastPort - firstPort + 1;
  return Array.from({ length: count }, (_, index) => ({ host, port: firstPort + index }));
}

/** The first address of this machine that others can know, of the family of the wildcard. */
function outwardHost(wildcard: string): string {
  const family = isIPv6(wildcard) ? "IPv6" : "IPv4";
  const all = Object.values(networkInterfaces()).flatMap((addresses) => addresses ?? []);
  const found = all.find(
    ({ family: own, internal, address }) => own === family && !internal && !isLinkLocal(address),
  );
  if (found !== undefined) return found.address;
  return family === "IPv6" ? "::1" : "127.0.0.1";
}

// Such an address means nothing without the name of an interface.
const isLinkLocal = (address: string): boolean => /^fe[89ab]/i.test(address);
