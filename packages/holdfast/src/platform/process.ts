import { hostname } from "node:os";

/** A readable label for this process: host name and process id. */
export function defaultOwner(): string {
  return `${hostname()}:${process.pid}`;
}

/** Emits an error as a process warning. A client without `onError` does this with an error that no caller waits for. */
export function warn(error: Error): void {
  process.emitWarning(error);
}
