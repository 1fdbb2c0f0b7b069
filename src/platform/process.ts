import { hostname } from "node:os";

/** A label for people that tells this process from others. */
export function defaultOwner(): string {
  return `${hostname()}:${process.pid}`;
}

/** Shows an error that no caller waits for, where nobody asked for it to go elsewhere. */
export function warn(error: Error): void {
  process.emitWarning(error);
}
