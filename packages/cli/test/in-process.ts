import { spawn } from "node:child_process";
import { EventEmitter, once } from "node:events";
import { fileURLToPath } from "node:url";
import type { Host } from "../src/host.js";
import { run } from "../src/run.js";
import type { Result, Running } from "./support.js";
import { collected, pause, printedIn } from "./text.js";

/** The built guard: a command under a lock has a guard process, also if the command line itself has none. */
const GUARD_FILE = fileURLToPath(new URL("../dist/guard/guard.js", import.meta.url));
// A leaked process would hold the guard's pipes open, and block the test without end.
const PIPES_MS = 1_000;

/** Runs a command line in this process, with streams and signals in memory. */
export function inProcess(words: readonly string[], env: NodeJS.ProcessEnv): Running {
  refuseOtherCredentials(env);
  const text = { stdout: "", stderr: "" };
  const signals = new EventEmitter();
  const pipes: Promise<unknown>[] = [];
  const streamTo = (name: keyof typeof text): Host["stdout"] => ({
    width: Number.POSITIVE_INFINITY,
    write: (chunk) => {
      text[name] += chunk;
      return undefined;
    },
  });
  const ended = run(words, {
    env,
    platform: process.platform,
    hasChangedArguments: () => false,
    changedVariables: () => [],
    stdin: () => new Uint8Array(),
    stdout: streamTo("stdout"),
    stderr: streamTo("stderr"),
    onReaderGone: () => () => undefined,
    signals,
    startGuard: (env) => {
      const stdio = ["ignore", "pipe", "pipe", "ipc"] as const;
      const guard = spawn(process.execPath, [GUARD_FILE], {
        detached: true,
        stdio: [...stdio],
        env,
      });
      collected(guard, text);
      // Not the guard's "close": Node.js does not emit it after a `disconnect()` from here.
      for (const pipe of [guard.stdout, guard.stderr]) if (pipe) pipes.push(once(pipe, "end"));
      return guard;
    },
  }).then(async (status): Promise<Result> => {
    await Promise.race([Promise.all(pipes), pause(PIPES_MS)]);
    return { status, signal: null, ...text };
  });
  let die: (result: Result) => void = () => undefined;
  const died = new Promise<Result>((resolve) => {
    die = resolve;
  });
  return {
    result: Promise.race([ended, died]),
    text,
    printed: printedIn(text),
    kill: (signal) => {
      if (signal === "SIGKILL") throw new Error("Only a process can be killed: use `spawn`.");
      // Without a listener, the signal ends a process.
      if (!signals.emit(signal)) die({ status: null, signal, ...text });
    },
  };
}

/** The SDK reads its credentials from `process.env`, which all runs in this process share. */
function refuseOtherCredentials(env: NodeJS.ProcessEnv): void {
  const other = Object.keys(env).filter(
    (name) => name.startsWith("AWS_") && env[name] !== process.env[name],
  );
  if (other.length > 0) throw new Error(`Use \`spawn\` for another ${other.join(", ")}.`);
}
