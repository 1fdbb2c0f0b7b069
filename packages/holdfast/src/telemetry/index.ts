/**
 * Turns the events of the channels into OpenTelemetry metrics and spans. This file lists the public names only;
 * each name is documented at its definition.
 * @module
 */
export type { NamedSubject, TelemetryOptions } from "./options.js";
export { startTelemetry, type Telemetry } from "./telemetry.js";
