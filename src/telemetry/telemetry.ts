import { metrics, trace } from "@opentelemetry/api";
import { LEASE_CHANNELS } from "../core/events.js";
import { ELECTION_CHANNELS } from "../election/events.js";
import { checkNames } from "../internal/option-names.js";
import { listenTo } from "../platform/diagnostics.js";
import { measured } from "./metrics.js";
import { TELEMETRY_NAMES, type TelemetryOptions } from "./options.js";
import { traced } from "./spans.js";

/** The running telemetry of {@link startTelemetry}. */
export interface Telemetry {
  /** Stops the telemetry: later events are not measured and cost nothing. Open spans end. Idempotent. */
  stop(): void;
}

type Handlers = Partial<Record<string, (message: never) => void>>;

const CHANNELS: readonly string[] = [
  ...Object.values(LEASE_CHANNELS),
  ...Object.values(ELECTION_CHANNELS),
];

/**
 * Turns the events of all clients of this process into OpenTelemetry metrics and spans. The events come from
 * `node:diagnostics_channel`; docs/telemetry.md lists all metrics and spans. Call once, after the providers are
 * registered. Sends no request. Metric attributes have bounded values: kinds, reasons, outcomes, task names;
 * lock names only through {@link TelemetryOptions.nameOf}.
 */
export function startTelemetry(options: TelemetryOptions = {}): Telemetry {
  checkNames("startTelemetry()", options, TELEMETRY_NAMES);
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
