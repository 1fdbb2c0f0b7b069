/**
 * For NestJS: a module that provides the client and closes it, and a decorator for scheduled methods.
 * Names only: each is documented where it is defined.
 * @module
 */
export { HOLDFAST, HoldfastModule } from "./module.js";
export { Once, type OnceMethodOptions } from "./once.js";
