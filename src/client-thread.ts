import type { HoldfastOptions } from "./client-options.js";
import type { ClientContext } from "./core/context.js";
import type { FormatTypes } from "./core/record/format-types.js";
import type { ThreadSettings } from "./core/session/thread-messages.js";
import { resolveThread } from "./core/thread-options.js";
import { HoldfastError } from "./errors.js";
import { sharedClock } from "./platform/clock.js";
import { schemaOf } from "./table/schema.js";

/**
 * Returns the settings of the thread that renews the client's session; undefined without `thread`. Loads nothing: the
 * client loads the code of threads when it starts one. Throws `invalid-argument`.
 */
export function threadFrom<S extends FormatTypes>(
  options: HoldfastOptions<S>,
  { timers }: ClientContext,
  leaseMs: number,
): ThreadSettings | undefined {
  const choice = resolveThread(options.sharedSession, leaseMs);
  if (choice === undefined) return undefined;
  const { client, table } = options;
  if (options.format !== undefined) {
    throw refuse("A thread renews sessions of native records. Leave out `format`, or `thread`.");
  }
  if (options.environment?.clock !== undefined) {
    throw refuse(
      "A thread reads the clocks of this machine. Leave out `environment.clock`, or `thread`.",
    );
  }
  const { config } = client as { readonly config?: { readonly region?: unknown } };
  if (choice.module === undefined && typeof config?.region !== "function") {
    throw refuse(
      "The option `client` has no configuration that a thread could use. Set `sharedSession.thread.module` to the URL " +
        "of a module that makes the client of the thread.",
    );
  }
  const { module, worker, mayBlockMs } = choice;
  const parts = { client, table, keys: schemaOf(options.keys).keys, timers, module, worker };
  return {
    mayBlockMs,
    clock: sharedClock,
    start: async (start, events) =>
      (await import("./thread/start.js")).startThread(parts, start, events),
  };
}

function refuse(message: string): HoldfastError {
  return new HoldfastError("invalid-argument", message);
}
