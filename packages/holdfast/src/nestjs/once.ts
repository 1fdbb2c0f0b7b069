import { checkName } from "../core/record/name.js";
import { type Lease, type Occurrence, type OnceOptions, once } from "../index.js";
import { checkNames, type OptionNames, refuse } from "../internal/option-names.js";
import { resolveOnce } from "../once/options.js";
import { replaceMethod } from "./method.js";

/** Options of {@link Once}. */
export interface OnceMethodOptions extends Omit<OnceOptions, "occurrence" | "signal"> {
  /** The task's name, the same in every instance. Default: the names of class and method. */
  readonly name?: string | undefined;
  /**
   * The occurrence of a call. For a method at a fixed period pass the period, `{ every: "1m" }`: the call is
   * the occurrence at the last multiple. Otherwise pass a function.
   */
  readonly occurrence: Extract<Occurrence, { readonly every: unknown }> | (() => Occurrence);
}

const ONCE_METHOD_NAMES: OptionNames<OnceMethodOptions> = {
  name: true,
  occurrence: true,
  atMostFor: true,
  atLeastFor: true,
  ifInterrupted: true,
  owner: true,
};

/**
 * Runs each occurrence of a scheduled method on only one instance. Put this decorator above or below `@Cron` or
 * `@Interval`. The method gets the lease of `once()` in place of its arguments. A call that does not run the
 * occurrence resolves to undefined. Needs {@link HoldfastModule}. Costs and rejects as `once()`.
 * @example
 * \@Cron("0 * * * * *")
 * \@Once({ occurrence: { every: "1m" } })
 * async report(lease: Lease) { ... }
 */
export function Once(options: OnceMethodOptions): MethodDecorator {
  const { name, occurrence, ...rest } = checkNames("@Once()", options, ONCE_METHOD_NAMES);
  // Text or an instant would be the same occurrence at each call: the method would run once, ever.
  const isPeriod = Object(occurrence) === occurrence && "every" in occurrence;
  if (typeof occurrence !== "function" && !isPeriod) {
    throw refuse("The option `occurrence` of @Once() must be { every }, or a function.");
  }
  // Throws when the class is defined: Nest's scheduler only logs what a call rejects with.
  resolveOnce(
    { ...rest, occurrence: typeof occurrence === "function" ? "any" : occurrence },
    "any",
  );
  if (name !== undefined) checkName(name);
  return (target, key, descriptor) => {
    const task = name ?? `${target.constructor.name}.${String(key)}`;
    replaceMethod(target, descriptor as PropertyDescriptor, async (locks, call) => {
      const which = typeof occurrence === "function" ? occurrence() : occurrence;
      const result = await once(locks, task, { ...rest, occurrence: which }, (lease: Lease) =>
        call(lease),
      );
      return result.ran ? result.value : undefined;
    });
    return descriptor;
  };
}
