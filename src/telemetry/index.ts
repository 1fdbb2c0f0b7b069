/**
 * What the channels tell, as OpenTelemetry metrics and spans. Names only: each is documented where it is
 * defined.
 * @module
 */
export {
  type NamedSubject,
  startTelemetry,
  type Telemetry,
  type TelemetryOptions,
} from "./telemetry.js";
