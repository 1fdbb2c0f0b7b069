import { hostname } from "node:os";

/** A readable label for this process: host name and process id. */
export function defaultOwner(): string {
  return `${hostname()}:${process.pid}`;
}

/** The id of this process's user; undefined where users have none, as on Windows. */
export function userId(): number | undefined {
  return process.getuid?.();
}

/** The folder for the sockets of this user's programs, if the system has told one. */
export function runtimeFolder(): string | undefined {
  return process.env["XDG_RUNTIME_DIR"];
}

/** Emits an error as a process warning. A client without `onError` does this with an error that no caller waits for. */
export function warn(error: Error): void {
  process.emitWarning(error);
}
