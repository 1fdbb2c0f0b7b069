/** Keeps a lock between its uses in one process. Each name is documented at its definition. @module */
export { type Keep, keepFor } from "../locks/keeping.js";
