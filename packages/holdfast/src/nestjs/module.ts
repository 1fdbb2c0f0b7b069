import type { DynamicModule, InjectionToken, ModuleMetadata, Provider } from "@nestjs/common";
import { partsOf } from "../client.js";
import { Holdfast } from "../index.js";
import { checkNames, type OptionNames, refuse } from "../internal/option-names.js";

/**
 * The token of the client: `@Inject(HOLDFAST) locks: Holdfast`. The class is a token, too: `constructor(locks:
 * Holdfast)`.
 */
export const HOLDFAST: unique symbol = Symbol.for("holdfast.client");

const CLOSER = Symbol.for("holdfast.closer");

/** Options of {@link HoldfastModule.forRootAsync}: a factory provider of Nest's that makes the client. */
export interface HoldfastAsyncOptions extends Pick<ModuleMetadata, "imports"> {
  /** The tokens of the arguments of `useFactory`. Default none. */
  readonly inject?: readonly InjectionToken[] | undefined;
  /** Makes the client, for example from a `ConfigService`. */
  // biome-ignore lint/suspicious/noExplicitAny: Nest decides the arguments at run time, by `inject`.
  readonly useFactory: (...given: any[]) => Holdfast | Promise<Holdfast>;
}

const ASYNC_NAMES: OptionNames<HoldfastAsyncOptions> = {
  imports: true,
  inject: true,
  useFactory: true,
};

/**
 * Provides the client to the whole application, and closes the client at shutdown. Nest calls shutdown hooks at
 * `app.close()`, and at signals after `app.enableShutdownHooks()`.
 * @example imports: [ScheduleModule.forRoot(), HoldfastModule.forRoot(locks)]
 */
// biome-ignore lint/complexity/noStaticOnlyClass: Nest knows a module by its class.
export class HoldfastModule {
  /** The module for this client. Sends no request. */
  static forRoot(locks: Holdfast): DynamicModule {
    partsOf(locks, "HoldfastModule.forRoot()");
    return moduleWith({ provide: HOLDFAST, useValue: locks });
  }

  /**
   * The module for a client that a factory makes when the application starts. Sends no request. If the factory
   * throws, or returns no client, the application does not start.
   * @example
   * HoldfastModule.forRootAsync({
   *   inject: [ConfigService],
   *   useFactory: (config: ConfigService) => new Holdfast({ client, table: config.getOrThrow("LOCKS") }),
   * })
   */
  static forRootAsync(options: HoldfastAsyncOptions): DynamicModule {
    const { imports, inject, useFactory } = checkNames("forRootAsync()", options, ASYNC_NAMES);
    if (inject !== undefined && !Array.isArray(inject)) {
      throw refuse("The option `inject` must be a list of tokens.");
    }
    if (typeof useFactory !== "function")
      throw refuse("The option `useFactory` must be a function.");
    const made = async (...given: unknown[]): Promise<Holdfast> => {
      const locks = await useFactory(...given);
      if ((locks as Partial<Holdfast> | undefined)?.parts !== undefined) return locks;
      throw refuse(
        "`useFactory` of forRootAsync() must return a client: `new Holdfast({ client, table })`.",
      );
    };
    const client = { provide: HOLDFAST, inject: [...(inject ?? [])], useFactory: made };
    return { ...moduleWith(client), ...(imports === undefined ? {} : { imports }) };
  }
}

function moduleWith(client: Provider): DynamicModule {
  const closer = {
    provide: CLOSER,
    inject: [HOLDFAST],
    useFactory: (locks: Holdfast) => ({
      onApplicationShutdown: (): Promise<void> => locks.close(),
    }),
  };
  const byClass = { provide: Holdfast, useExisting: HOLDFAST };
  return {
    module: HoldfastModule,
    global: true,
    providers: [client, byClass, closer],
    exports: [HOLDFAST, Holdfast],
  };
}
