import { DAY_MS, type DurationRange, durationMs } from "../internal/duration.js";
import { refuse } from "../internal/option-names.js";
import { valueText } from "../internal/value-text.js";
import { type ClientOptions, DEFAULTS } from "./options.js";

/** The resolved options of a client. */
export interface ClientSettings {
  readonly maxClockDrift: number;
  /** Infinity for `"never"`: the client always watches a record for a whole lease before a takeover. */
  readonly maxClockErrorMs: number;
  readonly requestTimeoutMs: number;
  readonly closeTimeoutMs: number;
  readonly maxLocalHandoffs: number;
  /** Begins the ids of the client's sessions. */
  readonly sessionPrefix: string;
}

const TIMEOUT_RANGE: DurationRange = { leastMs: 10, mostMs: DAY_MS };
const CLOCK_ERROR_RANGE: DurationRange = { leastMs: 0, mostMs: DAY_MS };

/** Resolves the options of a client. Throws `invalid-argument`. */
export function resolveClient(options: ClientOptions): ClientSettings {
  const maxClockDrift = options.maxClockDrift ?? DEFAULTS.maxClockDrift;
  // A text would be joined to a number: leases of several times their length.
  if (typeof maxClockDrift !== "number" || !(maxClockDrift >= 0 && maxClockDrift <= 0.1)) {
    throw refuse(
      `The option \`maxClockDrift\` must lie between 0 and 0.1; it is ${valueText(maxClockDrift)}.`,
    );
  }
  const maxLocalHandoffs = options.maxLocalHandoffs ?? DEFAULTS.maxLocalHandoffs;
  if (!(Number.isInteger(maxLocalHandoffs) && maxLocalHandoffs >= 0)) {
    throw refuse(
      `The option \`maxLocalHandoffs\` must be a whole number from 0; it is ${valueText(maxLocalHandoffs)}.`,
    );
  }
  checkSession(options);
  return {
    maxClockDrift,
    maxClockErrorMs: resolveClockError(options.maxClockError),
    maxLocalHandoffs,
    sessionPrefix: resolvePrefix(options.sessionPrefix),
    requestTimeoutMs: durationMs(
      "requestTimeout",
      options.requestTimeout ?? DEFAULTS.requestTimeout,
      TIMEOUT_RANGE,
    ),
    closeTimeoutMs: durationMs(
      "closeTimeout",
      options.closeTimeout ?? DEFAULTS.closeTimeout,
      TIMEOUT_RANGE,
    ),
  };
}

function checkSession({ sharedSession, renew }: ClientOptions): void {
  if (sharedSession === undefined || sharedSession === false) return;
  if (sharedSession?.kind !== "shared session") {
    throw refuse(
      `The option \`sharedSession\` must be the result of sharedSession(); it is ${valueText(sharedSession)}.`,
    );
  }
  if (renew === "manual") {
    throw refuse(
      'The client renews a shared session itself. Leave out `sharedSession` or `renew: "manual"`.',
    );
  }
}

// DynamoDB's limit for a key, less the kind of the record and a UUID.
const LONGEST_PREFIX_BYTES = 2_000;

function resolvePrefix(prefix: ClientOptions["sessionPrefix"] = ""): string {
  const isText = typeof prefix === "string" && !/\p{Surrogate}/u.test(prefix);
  if (isText && Buffer.byteLength(prefix) <= LONGEST_PREFIX_BYTES) return prefix;
  throw refuse(
    `The option \`sessionPrefix\` must be well-formed text of at most ${LONGEST_PREFIX_BYTES} bytes.`,
  );
}

function resolveClockError(value: ClientOptions["maxClockError"]): number {
  if (value === "never") return Number.POSITIVE_INFINITY;
  return durationMs(
    "maxClockError",
    value === undefined ? DEFAULTS.maxClockError : value,
    CLOCK_ERROR_RANGE,
  );
}
