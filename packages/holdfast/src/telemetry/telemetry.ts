import { createNoopMeter, type Meter, metrics, trace } from "@opentelemetry/api";
import { checkCallback, checkNames, refuse } from "../internal/option-names.js";
import { listenTo } from "../platform/diagnostics.js";
import { measured } from "./metrics.js";
import { TELEMETRY_NAMES, type TelemetryOptions } from "./options.js";
import { traced } from "./spans.js";

/** The running telemetry of {@link startTelemetry}. */
export interface Telemetry {
  /** Stops the telemetry: later events are not measured and cost nothing. Open spans end. Idempotent. */
  stop(): void;
}

type NameOf = NonNullable<TelemetryOptions["nameOf"]>;
type Handlers = Readonly<Record<string, (message: never) => void>>;

/**
 * Turns the events of all clients of this process into OpenTelemetry metrics and spans. The events come from
 * `node:diagnostics_channel`; docs/telemetry.md lists all metrics and spans. Call once. The global providers may be
 * registered later; events before the registration are not measured. Sends no request. Metric attributes have bounded
 * values: kinds, reasons, outcomes, task names; lock names only through {@link TelemetryOptions.nameOf}.
 */
export function startTelemetry(options: TelemetryOptions = {}): Telemetry {
  checkNames("startTelemetry()", options, TELEMETRY_NAMES);
  const { meter, tracer = trace.getTracer("holdfast"), nameOf = () => undefined } = options;
  checkCallback("nameOf", nameOf);
  checkShape("meter", meter, "createHistogram");
  checkShape("tracer", tracer, "startSpan");
  const parts: { readonly told: Handlers; readonly end?: () => void }[] = [];
  if (meter === undefined) parts.push(measuredLater(nameOf));
  else if (meter !== false) parts.push(measured(meter, nameOf));
  if (tracer !== false) parts.push(traced(tracer));
  const ends = parts.flatMap(({ told }) =>
    Object.entries(told).map(([channel, handle]) =>
      listenTo(channel, (message) => handle(message as never)),
    ),
  );
  return {
    stop() {
      for (const end of ends.splice(0)) end();
      for (const { end } of parts.splice(0)) end?.();
    },
  };
}

/** Without this check the first lease would end the process: an error in a subscriber is an uncaught exception. */
function checkShape(option: string, value: unknown, method: string): void {
  if (value === undefined || value === false) return;
  const member = (value as Record<string, unknown> | null)?.[method];
  if (typeof member !== "function")
    throw refuse(`The option \`${option}\` must be a ${option}, or false.`);
}

/**
 * Measures with the global provider, as soon as it is registered. A tracer of OpenTelemetry finds a provider that is
 * registered later, but a meter does not. Without this function, a program that starts the SDK last would export no
 * metrics, without an error.
 */
function measuredLater(nameOf: NameOf): { readonly told: Handlers } {
  const none = createNoopMeter();
  const find = (): Meter => metrics.getMeter("holdfast");
  let meter = find();
  let part: { readonly told: Handlers } = measured(meter, nameOf);
  const forward = (channel: string) => (message: never) => {
    if (meter === none) {
      meter = find();
      if (meter !== none) part = measured(meter, nameOf);
    }
    part.told[channel]?.(message);
  };
  return { told: Object.fromEntries(Object.keys(part.told).map((one) => [one, forward(one)])) };
}
