import { CliError, EXIT, usageError } from "./output/exit-codes.js";

/** The port in an option's text; 0 is any free port. Throws a usage error. */
export function portOf(text = "0"): number {
  const port = Number(text);
  if (/^\d+$/.test(text) && port <= 65_535) return port;
  throw usageError(`--port must be a number from 0 to 65535; it is "${text}".`);
}

/** The failure of a server whose port another process has, or nobody may have. */
export function portError(port: number, { code }: NodeJS.ErrnoException): CliError {
  const why = `Port ${port} of 127.0.0.1 cannot be used (${code}). Choose another --port.`;
  return new CliError("port", EXIT.unavailable, why);
}
