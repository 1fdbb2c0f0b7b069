/**
 * A NestJS module that provides and closes the client, and a decorator for scheduled methods. This file lists
 * the public names only; each name is documented at its definition.
 * @module
 */
export { HOLDFAST, HoldfastModule } from "./module.js";
export { Once, type OnceMethodOptions } from "./once.js";
