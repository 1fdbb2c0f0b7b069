import type { DynamicModule } from "@nestjs/common";
import type { Holdfast } from "../index.js";

/** The token by which the client is injected: `@Inject(HOLDFAST) locks: Holdfast`. */
export const HOLDFAST: unique symbol = Symbol.for("holdfast.client");

const CLOSER = Symbol.for("holdfast.closer");

/**
 * Provides the client to the whole application, and closes the client at shutdown. Nest calls shutdown hooks at
 * `app.close()`, and at signals after `app.enableShutdownHooks()`.
 * @example imports: [ScheduleModule.forRoot(), HoldfastModule.forRoot(locks)]
 */
// biome-ignore lint/complexity/noStaticOnlyClass: Nest knows a module by its class.
export class HoldfastModule {
  /** The module for this client. Costs no request. */
  static forRoot(locks: Holdfast): DynamicModule {
    const closer = {
      provide: CLOSER,
      useValue: { onApplicationShutdown: (): Promise<void> => locks.close() },
    };
    return {
      module: HoldfastModule,
      global: true,
      providers: [{ provide: HOLDFAST, useValue: locks }, closer],
      exports: [HOLDFAST],
    };
  }
}
