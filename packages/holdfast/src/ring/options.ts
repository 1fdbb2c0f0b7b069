import { isIP } from "node:net";
import { checkNames, type OptionNames, refuse } from "../internal/option-names.js";
import { valueText } from "../internal/value-text.js";

/** Where a client listens for others that wait for its locks. */
export interface RingOptions {
  /** The address to listen at: an IP address of this machine, or `0.0.0.0` or `::` for all of them. */
  readonly host: string;
  /** The port, a range such as `"7400-7410"` of which the client takes the first free one, or 0 for any. Default 0. */
  readonly port?: number | string | undefined;
  /**
   * What the records say in place of the bound address, as behind a container's port mapping: `"203.0.113.7:17400"`,
   * `"[2001:db8::7]:17400"`, or a host alone for the bound port. Default: the bound address; at `0.0.0.0` or `::`, the first
   * address of this machine that is not a loopback one.
   */
  readonly advertise?: string | undefined;
}

/** A client that rings, and is never rung: for AWS Lambda, where nothing can connect to a function. */
export interface RingsOnly {
  readonly listen: false;
}

/** A host and a port. */
export interface Endpoint {
  readonly host: string;
  readonly port: number;
}

/** Where to listen. */
export interface Listening {
  readonly host: string;
  readonly firstPort: number;
  readonly lastPort: number;
  readonly advertised: { readonly host: string; readonly port: number | undefined } | undefined;
}

const LISTENS_NAMES: OptionNames<RingOptions> = { host: true, port: true, advertise: true };
const ONLY_NAMES: OptionNames<RingsOnly> = { listen: true };

/** Returns where to listen; undefined for a client that never listens. Throws `invalid-argument`. */
export function resolveRing(options: RingOptions | RingsOnly): Listening | undefined {
  if (typeof options === "object" && options !== null && "listen" in options) {
    checkNames("ring()", options, ONLY_NAMES);
    if (options.listen !== false) throw refuse("`listen` of ring() must be false.");
    return undefined;
  }
  const { host, port = 0, advertise } = checkNames("ring()", options, LISTENS_NAMES);
  if (typeof host !== "string" || isIP(host) === 0) {
    throw refuse(
      `\`host\` of ring() must be an IP address to listen at; it is ${valueText(host)}.`,
    );
  }
  const [firstPort, lastPort] = portsOf(port);
  return {
    host,
    firstPort,
    lastPort,
    advertised: advertise === undefined ? undefined : advertisedIn(advertise),
  };
}

const LAST_PORT = 65_535;

function portsOf(port: number | string): readonly [number, number] {
  const range = typeof port === "string" ? /^(\d{1,5})(?:-(\d{1,5}))?$/.exec(port) : undefined;
  const first = typeof port === "number" ? port : Number(range?.[1]);
  const last = range?.[2] === undefined ? first : Number(range[2]);
  const isRange = Number.isInteger(first) && first >= 0 && first <= last && last <= LAST_PORT;
  if (isRange && (first > 0 || last === 0)) return [first, last];
  throw refuse(
    `\`port\` of ring() must be a port, a range such as "7400-7410", or 0; it is ${valueText(port)}.`,
  );
}

function advertisedIn(advertise: unknown): Listening["advertised"] {
  const text = typeof advertise === "string" ? advertise : "";
  const endpoint = endpointIn(text);
  if (endpoint !== undefined) return endpoint;
  if (isHost(text)) return { host: text, port: undefined };
  throw refuse(
    `\`advertise\` of ring() must be a host, or a host and a port; it is ${valueText(advertise)}.`,
  );
}

const ENDPOINT = /^(?:\[([^\]]+)\]|([^:]+)):(\d{1,5})$/;

/** Returns the host and port in an address of a record; undefined if it is none. */
export function endpointIn(address: string): Endpoint | undefined {
  const [, bracketed, plain = "", digits] = ENDPOINT.exec(address) ?? [];
  const port = Number(digits);
  if (!(port > 0 && port <= LAST_PORT)) return undefined;
  if (bracketed !== undefined) return isIP(bracketed) === 6 ? { host: bracketed, port } : undefined;
  return isHost(plain) ? { host: plain, port } : undefined;
}

/** The inverse of {@link endpointIn}. */
export function addressOf({ host, port }: Endpoint): string {
  return host.includes(":") ? `[${host}]:${port}` : `${host}:${port}`;
}

// A name of DNS, or an IP address.
function isHost(text: string): boolean {
  return isIP(text) !== 0 || (text.length <= 253 && /^[a-z\d]([a-z\d.-]*[a-z\d])?$/i.test(text));
}
