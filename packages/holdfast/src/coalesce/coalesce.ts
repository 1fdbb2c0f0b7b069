import { type ClientParts, type Holdfast, partsOf } from "../client.js";
import type { Lease } from "../core/hold/lease.js";
import type { FormatTypes } from "../core/record/format-types.js";
import { refOf } from "../core/record/key.js";
import { refuse } from "../internal/option-names.js";
import { perKey } from "../internal/per-key.js";
import type { RunArguments } from "../locks/locking.js";
import { type CoalesceOptions, resolveCoalesce } from "./options.js";
import { type Call, type CoalesceResult, Work } from "./work.js";

/**
 * Runs `fn` now; or, if it runs anywhere under this name, once more after that: every call is followed by a run that began
 * after it, and however many calls come during a run, one further run follows. For work that always handles the latest
 * state, such as a synchronisation. Resolves with `ran: true` after the own run, and with `ran: false` at once if another
 * run will follow.
 *
 * The process whose run is the present one also runs what is owed, in the background, with the function of its newest call.
 * `drain()` of the client waits for that. If it dies, any process that got `ran: false` and still lives runs instead, once
 * the lease is over. **Not** promised if all these processes die, or their clients close: the record then keeps the debt
 * until the next call, or the next {@link runOwed}, and at least seven days. A run that throws counts as a run; a run that
 * has lost its lease does not, nor one that throws after it was interrupted.
 *
 * The lock is that of `mutex(locks, name)`: the two exclude each other, and a call passes the queue of that lock. Behind a
 * holder that knows nothing of calls, the run follows when a process that called finds the lock free, up to a lease later.
 *
 * Costs two writes if the lock is free, and one write during a run; two more for a further run, and a refused release. A
 * read of half a unit comes first unless this client has seen the record within a second, and after `ran: false` one a lease
 * until the run has ended. All calls of one process that wait for the same answer share it.
 *
 * Rejects with the error of `fn`; with `lost` if the lease was lost before the end of `fn`; with `unreachable`, `throttled`
 * or `closed` if the call was not noted for sure. Errors of a run in the background go to the client's `onError`. Throws
 * `invalid-argument`, also for another client's format.
 */
export function coalesce<T>(
  locks: Holdfast<FormatTypes>,
  name: string,
  fn: (lease: Lease) => T | PromiseLike<T>,
): Promise<CoalesceResult<T>>;
export function coalesce<T>(
  locks: Holdfast<FormatTypes>,
  name: string,
  options: CoalesceOptions,
  fn: (lease: Lease) => T | PromiseLike<T>,
): Promise<CoalesceResult<T>>;
export function coalesce<T>(
  locks: Holdfast<FormatTypes>,
  name: string,
  ...given:
    | [fn: (lease: Lease) => T | PromiseLike<T>]
    | [options: CoalesceOptions, fn: (lease: Lease) => T | PromiseLike<T>]
): Promise<CoalesceResult<T>> {
  const { work, call } = workOf("coalesce()", locks, name, given);
  return work.call(call);
}

/**
 * Runs `fn` if a run of this name is owed to an earlier call of {@link coalesce}, and no live holder is in the way: for a
 * schedule, so that work is done even after all processes that called have died. Resolves with `ran: false` if nothing is
 * owed, or if the lock is held: its holder runs, or the next call of this function finds the debt again.
 *
 * Costs a read of one unit; two writes more for a run. Options, rejections and errors are those of {@link coalesce}.
 */
export function runOwed<T>(
  locks: Holdfast<FormatTypes>,
  name: string,
  fn: (lease: Lease) => T | PromiseLike<T>,
): Promise<CoalesceResult<T>>;
export function runOwed<T>(
  locks: Holdfast<FormatTypes>,
  name: string,
  options: CoalesceOptions,
  fn: (lease: Lease) => T | PromiseLike<T>,
): Promise<CoalesceResult<T>>;
export function runOwed<T>(
  locks: Holdfast<FormatTypes>,
  name: string,
  ...given:
    | [fn: (lease: Lease) => T | PromiseLike<T>]
    | [options: CoalesceOptions, fn: (lease: Lease) => T | PromiseLike<T>]
): Promise<CoalesceResult<T>> {
  const { work, call } = workOf("runOwed()", locks, name, given);
  return work.callIfOwed(call);
}

// The works of each client that have a call, a run or a debt.
const worksOf = /* @__PURE__ */ perKey((_: ClientParts) => new Map<string, Work>());

function workOf<T>(
  caller: string,
  locks: Holdfast<FormatTypes>,
  name: string,
  given: RunArguments<CoalesceOptions, Lease, T>,
): { readonly work: Work; readonly call: Call<T> } {
  const parts = partsOf(locks, caller);
  const [options, fn] = given.length === 1 ? [{}, given[0]] : given;
  if (typeof fn !== "function") {
    throw refuse(`The last argument of ${caller} must be a function.`);
  }
  const { context } = parts;
  const ref = refOf(context.format, name);
  const call = { fn, settings: resolveCoalesce(caller, parts, options) };
  const works = worksOf(parts);
  const work = works.get(ref.id) ?? new Work(context, ref, call, () => works.delete(ref.id));
  works.set(ref.id, work);
  return { work, call };
}
