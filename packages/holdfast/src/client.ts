import { environmentFrom, type HoldfastOptions } from "./client-options.js";
import { AcquireContext } from "./core/acquire/context.js";
import { resolveClient } from "./core/client-settings.js";
import { closeInOrder, type Running } from "./core/hold/close.js";
import { actingMs } from "./core/hold/deadline.js";
import { type ClientOptions, resolveAcquire } from "./core/options.js";
import type { FormatTypes, NativeTypes } from "./core/record/format-types.js";
import type { SharedSession } from "./core/session/shared.js";
import { refuse } from "./internal/option-names.js";
import { defaultOwner } from "./platform/process.js";
import type { StartsSession } from "./shared-session.js";

/** What the locks, the elections and the operators' functions of one client share. */
export interface ClientParts {
  readonly context: AcquireContext;
  /** The client's lengths of time, the defaults of its locks. */
  readonly clientOptions: ClientOptions;
  readonly defaultOwner: string;
  /** The shared session of a client with the option `sharedSession`. */
  readonly shared: SharedSession | undefined;
  /** The callbacks under a lease, until the client closes. */
  readonly running: Set<Running>;
}

/**
 * A client for the locks in one DynamoDB table: the first argument of {@link mutex} and of every other function that
 * makes or inspects a lock.
 *
 * Not promised: a lease is not mutual exclusion, because any request and any process can be delayed. A holder
 * stops by its own clocks. Protect data from a former holder with `lease.condition()` or `lease.fence`. See
 * docs/safety.md.
 *
 * Use one client per process: the waiters for a name share a local queue, and all calls share observations.
 * The constructor sends no request. Throws `invalid-argument`.
 */
export class Holdfast<S extends FormatTypes = NativeTypes> implements AsyncDisposable {
  /** The names, data and fences of the client's format. A type without a value. */
  declare readonly types: S | undefined;
  readonly #parts: ClientParts;
  #closed: Promise<void> | undefined;

  constructor(options: HoldfastOptions<S>) {
    const environment = environmentFrom(options);
    const client = resolveClient(options);
    const { lease, renew, wait, poll, onWait } = options;
    const owner = options.owner ?? defaultOwner();
    // Checked in the constructor, so that a mistake shows at the start and not at first use; and before the client listens for
    // rings, since nobody could close its port.
    const settings = resolveAcquire([options], owner, environment.format.facts.defaults);
    actingMs({ ...environment, settings: client }, settings.leaseMs);
    const session = options.sharedSession as StartsSession | false | undefined;
    const start = session ? session.prepare(options, environment, settings) : undefined;
    const context = new AcquireContext(environment, client);
    this.#parts = {
      context,
      clientOptions: { lease, renew, wait, poll, onWait },
      defaultOwner: owner,
      shared: start?.(context),
      running: new Set(),
    };
  }

  /** @internal What the functions over a client use. */
  get parts(): ClientParts {
    return this.#parts;
  }

  /**
   * Resolves when the client does nothing in the background: no acquisition, no release, no rollback. Call this
   * before the process is frozen. Leases stay held, and are renewed. Costs no request.
   */
  drain(): Promise<void> {
    return this.#parts.context.drain();
  }

  /**
   * Closes the client. Pending acquisitions reject with `closed`. Leaders abort the signals of their `lead()`
   * callbacks, and release each term after its callback has ended, for at most `closeTimeout`. Then the other
   * leases end with reason `closed` and are released in parallel, one write each, for at most `closeTimeout`.
   * Rejects with a single error, which lists each lease without an acknowledged release. Idempotent.
   */
  close(): Promise<void> {
    const { context, running } = this.#parts;
    this.#closed ??= closeInOrder(context, running).finally(() => context.rings?.close());
    return this.#closed;
  }

  [Symbol.asyncDispose](): Promise<void> {
    return this.close();
  }
}

/** Returns the parts of the first argument of `caller`. Throws `invalid-argument` if the argument is no client. */
export function partsOf<S extends FormatTypes>(client: Holdfast<S>, caller: string): ClientParts {
  // Not by `instanceof`: one program may load the package twice, as an ES module and as CommonJS.
  // A lease has parts, too.
  const parts = (client as Partial<Holdfast<S>> | null | undefined)?.parts;
  if (parts?.context !== undefined) return parts;
  throw refuse(
    `The first argument of ${caller} must be a client: \`new Holdfast({ client, table })\`.`,
  );
}
