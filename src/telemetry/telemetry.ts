import { metrics, trace } from "@opentelemetry/api";
import { LEASE_CHANNELS } from "../core/events.js";
import { ELECTION_CHANNELS } from "../election/events.js";
import { listenTo } from "../platform/diagnostics.js";
import { measured } from "./metrics.js";
import type { TelemetryOptions } from "./options.js";
import { traced } from "./spans.js";

/** What {@link startTelemetry} has begun. */
export interface Telemetry {
  /** Stops listening: nothing is measured any more, and what was costs nothing. Open spans end. Idempotent. */
  stop(): void;
}

type Handlers = Partial<Record<string, (message: never) => void>>;

const CHANNELS: readonly string[] = [
  ...Object.values(LEASE_CHANNELS),
  ...Object.values(ELECTION_CHANNELS),
];

/**
 * Turns what all clients of this process tell on `node:diagnostics_channel` into OpenTelemetry metrics and
 * spans; docs/telemetry.md lists them. Call it once, after the providers are registered. It costs no request.
 * What a metric's attributes can be is bounded: kinds, reasons, outcomes, names of workers; a lock's name only by
 * {@link TelemetryOptions.nameOf}.
 */
export function startTelemetry(options: TelemetryOptions = {}): Telemetry {
  const { meter = metrics.getMeter("holdfast"), tracer = trace.getTracer("holdfast") } = options;
  const parts: { readonly told: Handlers; readonly end?: () => void }[] = [];
  if (meter !== false) parts.push(measured(meter, options.nameOf ?? (() => undefined)));
  if (tracer !== false) parts.push(traced(tracer));
  const ends = parts.flatMap(({ told }) =>
    CHANNELS.flatMap((channel) => {
      const handle = told[channel];
      return handle === undefined ? [] : [listenTo(channel, (message) => handle(message as never))];
    }),
  );
  return {
    stop() {
      for (const end of ends.splice(0)) end();
      for (const { end } of parts.splice(0)) end?.();
    },
  };
}
