/**
 * The file that a worker thread runs to renew the session of a client with `sharedSession({ thread })`. Only a
 * program in a bundle names this entry: see docs/sessions.md. This file lists the public names only; each name is
 * documented at its definition.
 * @module
 */
export { runThread } from "./run.js";
