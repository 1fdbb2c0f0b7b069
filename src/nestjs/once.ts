import { Inject } from "@nestjs/common";
import type { Holdfast, Lease, Occurrence, OnceOptions } from "../index.js";
import { HOLDFAST } from "./module.js";

/** Options of {@link Once}. */
export interface OnceMethodOptions extends Omit<OnceOptions, "occurrence" | "signal"> {
  /** The task's name, the same in every instance. Default: the names of class and method. */
  readonly name?: string | undefined;
  /**
   * The occurrence of a call. For a method at a fixed period pass the period, `{ every: "1m" }`: the call is
   * the occurrence at the nearest multiple. Otherwise pass a function.
   */
  readonly occurrence: Extract<Occurrence, { readonly every: unknown }> | (() => Occurrence);
}

type Method = (this: object, ...given: unknown[]) => unknown;

const CLIENT = "holdfast$client";

/**
 * Runs a scheduled method in one of all instances: it goes beneath or above `@Cron` and `@Interval`. The
 * method is called with the lease of {@link Holdfast.once}, in place of its arguments; a
 * call that does not run it resolves to undefined. Needs {@link HoldfastModule}. Costs and rejects as
 * {@link Holdfast.once}.
 * @example
 * \@Cron("0 * * * * *")
 * \@Once({ occurrence: { every: "1m" } })
 * async report(lease: Lease) { ... }
 */
export function Once(options: OnceMethodOptions): MethodDecorator {
  const { name, occurrence, ...rest } = options;
  return (target, key, descriptor) => {
    Inject(HOLDFAST)(target, CLIENT);
    const method = descriptor.value as Method;
    const task = name ?? `${target.constructor.name}.${String(key)}`;
    const wrapped: Method = async function (this) {
      const { [CLIENT]: locks } = this as { readonly [CLIENT]: Holdfast };
      const which = typeof occurrence === "function" ? occurrence() : occurrence;
      const result = await locks.once(task, { ...rest, occurrence: which }, (lease: Lease) =>
        method.call(this, lease),
      );
      return result.ran ? result.value : undefined;
    };
    keepMetadata(method, wrapped);
    (descriptor as PropertyDescriptor).value = wrapped;
    return descriptor;
  };
}

/** The members that `reflect-metadata` adds to `Reflect`. Every Nest application loads reflect-metadata. */
interface Metadata {
  getMetadataKeys?(target: object): unknown[];
  getMetadata?(key: unknown, target: object): unknown;
  defineMetadata?(key: unknown, value: unknown, target: object): void;
}

// Decorators below have stored metadata on the original method, but Nest reads the replacement's metadata.
function keepMetadata(from: object, to: object): void {
  const reflect = Reflect as Metadata;
  for (const key of reflect.getMetadataKeys?.(from) ?? []) {
    reflect.defineMetadata?.(key, reflect.getMetadata?.(key, from), to);
  }
}
