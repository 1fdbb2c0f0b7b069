import { Inject } from "@nestjs/common";
import type { Holdfast } from "../index.js";
import { refuse } from "../internal/option-names.js";
import { HOLDFAST } from "./module.js";

type Method = (this: object, ...given: unknown[]) => unknown;

const CLIENT = "holdfast$client";

/** Replaces a method by a call of `run`, with the client of the module. `given` are the arguments of the call. */
export function replaceMethod(
  target: object,
  descriptor: PropertyDescriptor,
  run: (
    locks: Holdfast,
    call: (...given: unknown[]) => unknown,
    given: readonly unknown[],
  ) => Promise<unknown>,
): void {
  Inject(HOLDFAST)(target, CLIENT);
  const method = descriptor.value as Method;
  const wrapped: Method = async function (this, ...given) {
    const { [CLIENT]: locks } = this as { readonly [CLIENT]?: Holdfast };
    // Nest injects it, so that an object made by `new`, as in a unit test, has none.
    if (locks === undefined) throw refuse(withoutClient(target.constructor.name));
    return run(locks, (...passed) => method.apply(this, passed), given);
  };
  keepMetadata(method, wrapped);
  descriptor.value = wrapped;
}

function withoutClient(name: string): string {
  return (
    `This ${name} has no client of Holdfast. Let Nest make it, in an application or a testing module that imports ` +
    "`HoldfastModule.forRoot(locks)`, in tests with `local()` of @holdfast/testing."
  );
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
