import { DEFAULT_NAMES } from "../core/option-names.js";
import { type AnyAcquireOptions, resolveAcquire } from "../core/options.js";
import { checkName } from "../core/record/name.js";
import {
  type AcquireOptions,
  fairLock,
  type HoldfastError,
  isHoldfastError,
  mutex,
} from "../index.js";
import { checkCallback, checkNames, type OptionNames } from "../internal/option-names.js";
import { replaceMethod } from "./method.js";

/** Options of {@link WithLock}. */
export interface WithLockOptions extends Omit<AcquireOptions, "signal" | "barge"> {
  /** Whether waiters acquire the lock in the order of their arrival. Default false. */
  readonly fair?: boolean | undefined;
  /**
   * Called in place of the method if the lock was not acquired within the wait, with the error (`not-acquired`) and the
   * arguments of the call. What it returns or throws, such as a `ConflictException`, is the outcome of the call.
   */
  // biome-ignore lint/suspicious/noExplicitAny: The arguments are those of the decorated method.
  readonly onBusy?: ((error: HoldfastError, ...given: any[]) => unknown) | undefined;
}

const WITH_LOCK_NAMES: OptionNames<WithLockOptions> = {
  ...DEFAULT_NAMES,
  ifHeld: true,
  fair: "flag",
  onBusy: true,
};

/** Options of a client with which every value that is valid for some client is valid. */
const WIDEST: AnyAcquireOptions = { lease: "365d", poll: { min: "1ms", max: "1d" } };

/** Checks each value by itself: together with those of the client, which is not known yet, each call does. */
function checkAlone(options: AnyAcquireOptions): void {
  for (const [name, value] of Object.entries(options))
    resolveAcquire([{ [name]: value }, WIDEST], "any");
}

/**
 * Runs a method under a lock: one call at a time in all instances. The method gets its own arguments, and the lease as the
 * last one. `name` is the name of the lock, or a function of the arguments. Needs {@link HoldfastModule}. Costs and rejects
 * as `Lock.run`: with `not-acquired` after the wait, unless `onBusy` answers, and with `lost` if the lock was lost before the method ended.
 * @example
 * \@WithLock((order: string) => `order/${order}`)
 * async ship(order: string, lease?: Lease) { ... }
 */
export function WithLock(
  // biome-ignore lint/suspicious/noExplicitAny: The arguments are those of the decorated method.
  name: string | ((...given: any[]) => string),
  options: WithLockOptions = {},
): MethodDecorator {
  const { fair = false, onBusy, ...asked } = checkNames("@WithLock()", options, WITH_LOCK_NAMES);
  checkCallback("onBusy", onBusy);
  checkAlone(asked);
  if (typeof name !== "function") checkName(name);
  return (target, _key, descriptor) => {
    replaceMethod(target, descriptor as PropertyDescriptor, async (locks, call, given) => {
      const named = typeof name === "function" ? name(...given) : name;
      const lock = fair ? fairLock(locks, named) : mutex(locks, named);
      let hasBegun = false;
      try {
        return await lock.run(asked, async (lease) => {
          hasBegun = true;
          return call(...given, lease);
        });
      } catch (error) {
        // The method may itself have failed to acquire another lock.
        const isBusy = !hasBegun && isHoldfastError(error, "not-acquired");
        if (onBusy === undefined || !isBusy) throw error;
        return onBusy(error, ...given);
      }
    });
    return descriptor;
  };
}
