import type { Meter, Tracer } from "@opentelemetry/api";
import type { Kind } from "../core/record/format.js";

/** What a metric is about, before it is decided whether its name may be an attribute. */
export interface NamedSubject {
  /** `lock`, `leader`, `once` or `session`. */
  readonly kind: Kind;
  /** The name; of a session, its id. */
  readonly name: string;
}

/** Options of `startTelemetry`. */
export interface TelemetryOptions {
  /** Where metrics go; false for none. Default: the global provider's meter `holdfast`. */
  readonly meter?: Meter | false | undefined;
  /** Where spans go; false for none. Default: the global provider's tracer `holdfast`. */
  readonly tracer?: Tracer | false | undefined;
  /**
   * What metrics say, as `holdfast.name`, of the name that they are about; undefined for nothing. Every
   * different answer is a series of its own, for ever, so it must have few: a prefix, or only names that
   * you know. Default: nothing. Spans always carry the name.
   */
  readonly nameOf?: ((subject: NamedSubject) => string | undefined) | undefined;
}
