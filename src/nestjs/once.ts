import { Inject } from "@nestjs/common";
import type { Holdfast, Lease, Occurrence, OnceOptions } from "../index.js";
import { HOLDFAST } from "./module.js";

/** Options of {@link Once}. */
export interface OnceMethodOptions extends Omit<OnceOptions, "occurrence" | "signal"> {
  /** The task's name, the same in every instance. Default: the names of class and method. */
  readonly name?: string | undefined;
  /**
   * Which occurrence a call is. For a method at a fixed period that period, `{ every: "1m" }`: the call is
   * the occurrence at the nearest multiple of it. Otherwise a function that says so.
   */
  readonly occurrence: Extract<Occurrence, { readonly every: unknown }> | (() => Occurrence);
}

type Method = (this: object, ...given: unknown[]) => unknown;

const CLIENT = "holdfast$client";

/**
 * Runs a scheduled method in one of all instances: it goes beneath or above `@Cron` and `@Interval`. The
 * method is called with the signal and the lease of {@link Holdfast.once}, in place of its arguments; a
 * call that does not run it resolves to undefined. Needs {@link HoldfastModule}. Costs and rejects as
 * {@link Holdfast.once}.
 * @example
 * \@Cron("0 * * * * *")
 * \@Once({ occurrence: { every: "1m" } })
 * async report(signal: AbortSignal) { ... }
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
      const result = await locks.once(
        task,
        { ...rest, occurrence: which },
        (signal: AbortSignal, lease: Lease) => method.call(this, signal, lease),
      );
      return result.ran ? result.value : undefined;
    };
    keepMetadata(method, wrapped);
    (descriptor as PropertyDescriptor).value = wrapped;
    return descriptor;
  };
}

/** What `reflect-metadata` adds to `Reflect`, and every Nest application loads. */
interface Metadata {
  getMetadataKeys?(target: object): unknown[];
  getMetadata?(key: unknown, target: object): unknown;
  defineMetadata?(key: unknown, value: unknown, target: object): void;
}

// Decorators beneath have written theirs on the method itself, and are looked for on what replaces it.
function keepMetadata(from: object, to: object): void {
  const reflect = Reflect as Metadata;
  for (const key of reflect.getMetadataKeys?.(from) ?? []) {
    reflect.defineMetadata?.(key, reflect.getMetadata?.(key, from), to);
  }
}
