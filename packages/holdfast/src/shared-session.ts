import type { HoldfastOptions } from "./client-options.js";
import type { AcquireContext } from "./core/acquire/context.js";
import type { AcquireSettings } from "./core/acquire/settings.js";
import type { ClientEnvironment } from "./core/context.js";
import { requireCapability } from "./core/record/capability.js";
import type { FormatTypes } from "./core/record/format-types.js";
import { SharedSession } from "./core/session/shared.js";
import type { ThreadSettings } from "./core/session/thread-messages.js";
import {
  checkSharedSession,
  resolveThread,
  type SharedSessionOptions,
} from "./core/thread-options.js";
import type { Duration } from "./internal/duration.js";
import { refuse } from "./internal/option-names.js";
import { SESSIONS } from "./native/native-sessions.js";
import { sharedClock } from "./platform/clock.js";
import type { Timers } from "./platform/timers.js";
import { schemaOf } from "./table/schema.js";

/** Starts the session of a client. */
export interface StartsSession {
  readonly kind: "shared session";
  /** Checks the options before the client exists, and returns what starts its session. Throws `invalid-argument`. */
  prepare(
    options: HoldfastOptions<FormatTypes>,
    environment: Pick<ClientEnvironment, "format" | "timers">,
    settings: AcquireSettings,
  ): (context: AcquireContext) => SharedSession;
}

/**
 * Returns a session for the leases of a client, as its option `sharedSession`. One value may serve several clients: each
 * opens a session of its own. With `thread`, a worker thread renews the session while the event loop is blocked; each
 * acquisition then costs one write more. Costs no request. Throws `invalid-argument`.
 */
export function sharedSession(asked?: {
  /** Renews the session from a worker thread, so that a blocked event loop does not end its leases. */
  readonly thread:
    | true
    | {
        /**
         * A module that makes the client of the thread, as a URL: its default export is a client, or a function that returns
         * a client or a promise of one. An SDK client cannot be sent to a thread. Default: the thread makes an SDK client
         * with the endpoint, the region and the credentials of the main thread's client.
         */
        readonly module?: URL | string | undefined;
        /** The file `holdfast/thread.js`, as a URL, for a program in a bundle. Default: the file in this package. */
        readonly worker?: URL | string | undefined;
      };
  /**
   * How long the event loop may be blocked: at least the length of the lease. The thread stops its renewals after this
   * time without a sign of life from the event loop. A process that hangs for good blocks its locks for this time plus
   * one lease.
   */
  readonly mayBlock: Duration;
}): { readonly kind: "shared session" } {
  checkSharedSession(asked);
  const session: StartsSession = {
    kind: "shared session",
    prepare(options, { format, timers }, settings) {
      requireCapability(format, SESSIONS);
      const thread = threadFrom(asked, options, timers, settings.leaseMs);
      return (context) => new SharedSession(context, settings, thread);
    },
  };
  return session;
}

/**
 * Returns the settings of the thread that renews the client's session; undefined without `thread`. Loads nothing: the
 * client loads the code of threads when it starts one. Throws `invalid-argument`.
 */
function threadFrom(
  asked: SharedSessionOptions | undefined,
  options: HoldfastOptions<FormatTypes>,
  timers: Timers,
  leaseMs: number,
): ThreadSettings | undefined {
  const choice = resolveThread(asked, leaseMs);
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
