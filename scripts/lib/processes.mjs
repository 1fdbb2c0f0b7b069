// Other programs, run to their end.
import { spawnSync } from "node:child_process";

/** Runs a program to its end with inherited output; throws on failure. */
export function run(program, args, options = {}) {
  const { status, signal, error } = spawnSync(program, args, { stdio: "inherit", ...options });
  if (error !== undefined) throw error;
  if (status === 0) return;
  throw new Error(`${[program, ...args].join(" ")}: ${signal ?? `exit status ${status}`}`);
}

/** Runs a program to its end and returns its output; throws on failure, with the output. */
export function outputOf(program, args, options = {}) {
  const { status, signal, stdout, stderr, error } = spawnSync(program, args, {
    encoding: "utf8",
    maxBuffer: 64 * 1024 * 1024,
    ...options,
  });
  if (error !== undefined) throw error;
  if (status === 0) return stdout;
  const how = signal ?? `exit status ${status}`;
  throw new Error(`${[program, ...args].join(" ")}: ${how}\n${stdout}${stderr}`);
}
