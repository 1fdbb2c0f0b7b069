/** For the holder of a lock: what others ask of it. Each name is documented at its definition. @module */
export type { WantedBy } from "../core/hold/requested.js";
export { announce, type IfHeld, interrupt } from "../locks/asking.js";
export { listen, onWanted, shield, wanted } from "./requests.js";
