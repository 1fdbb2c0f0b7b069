/**
 * What the channels tell, as OpenTelemetry metrics and spans. Names only: each is documented where it is
 * defined.
 * @module
 */
export type { NamedSubject, TelemetryOptions } from "./options.js";
export { startTelemetry, type Telemetry } from "./telemetry.js";
