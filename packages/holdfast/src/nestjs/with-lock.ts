import { type AcquireOptions, fairLock, mutex } from "../index.js";
import { checkNames, type OptionNames } from "../internal/option-names.js";
import { replaceMethod } from "./method.js";

/** Options of {@link WithLock}. */
export interface WithLockOptions extends Omit<AcquireOptions, "signal" | "barge"> {
  /** Whether waiters acquire the lock in the order of their arrival. Default false. */
  readonly fair?: boolean | undefined;
}

const WITH_LOCK_NAMES: OptionNames<WithLockOptions> = {
  lease: true,
  renew: true,
  maxHold: true,
  wait: true,
  poll: true,
  owner: true,
  onWait: true,
  data: true,
  existingData: true,
  attributes: true,
  existingAttributes: true,
  keepData: true,
  onlyIfExists: true,
  ifHeld: true,
  onPlaceExpired: true,
  onPosition: true,
  fair: true,
};

/**
 * Runs a method under a lock: one call at a time in all instances. The method gets its own arguments, and the lease as the
 * last one. `name` is the name of the lock, or a function of the arguments. Needs {@link HoldfastModule}. Costs and rejects
 * as `Lock.run`: with `not-acquired` after the wait, and with `lost` if the lock was lost before the method ended.
 * @example
 * \@WithLock((order: string) => `order/${order}`)
 * async ship(order: string, lease?: Lease) { ... }
 */
export function WithLock(
  // biome-ignore lint/suspicious/noExplicitAny: The arguments are those of the decorated method.
  name: string | ((...given: any[]) => string),
  options: WithLockOptions = {},
): MethodDecorator {
  const { fair = false, ...asked } = checkNames("@WithLock()", options, WITH_LOCK_NAMES);
  return (target, _key, descriptor) => {
    replaceMethod(target, descriptor as PropertyDescriptor, (locks, call, given) => {
      const named = typeof name === "function" ? name(...given) : name;
      const lock = fair ? fairLock(locks, named) : mutex(locks, named);
      return lock.run(asked, async (lease) => call(...given, lease));
    });
    return descriptor;
  };
}
