import type { Meter, Tracer } from "@opentelemetry/api";
import type { Kind } from "../core/record/format.js";
import type { OptionNames } from "../internal/option-names.js";

/** The subject of a metric, before `nameOf` decides whether the name becomes an attribute. */
export interface NamedSubject {
  /** `lock`, `leader`, `once`, `session`, `semaphore` or `read-write`. */
  readonly kind: Kind;
  /** The name, or the id of a session. */
  readonly name: string;
}

/** Options of `startTelemetry`. */
export interface TelemetryOptions {
  /** The meter for metrics; false disables metrics. Default: the global provider's meter `holdfast`. */
  readonly meter?: Meter | false | undefined;
  /** The tracer for spans; false disables spans. Default: the global provider's tracer `holdfast`. */
  readonly tracer?: Tracer | false | undefined;
  /**
   * Returns the attribute `holdfast.name` for a subject; undefined for no attribute. Every different result
   * becomes a separate time series forever, so keep the number small: a prefix, or only known names. Default:
   * no attribute, as for a subject at which it throws. Spans always have the name.
   */
  readonly nameOf?: ((subject: NamedSubject) => string | undefined) | undefined;
}

export const TELEMETRY_NAMES: OptionNames<TelemetryOptions> = {
  meter: true,
  tracer: true,
  nameOf: true,
};
