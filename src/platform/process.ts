import { hostname } from "node:os";

/** A readable label for this process: host name and process id. */
export function defaultOwner(): string {
  return `${hostname()}:${process.pid}`;
}

/**
 * Reports an error without a waiting caller as a process warning, the default when the user sets no handler.
 */
export function warn(error: Error): void {
  process.emitWarning(error);
}
