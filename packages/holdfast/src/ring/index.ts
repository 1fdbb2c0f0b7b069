/** Hand-overs without polls, between processes that can reach each other. The subpath `holdfast/ring`. @module */
export type { RingChoice } from "../core/options.js";
export type { RingOptions, RingsOnly } from "./options.js";
export { ring } from "./ring.js";
