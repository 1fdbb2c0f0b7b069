// Windows counts in ticks of 15.6 ms; elsewhere what is finer than a second is in hundredths.
const FINE_MS = { windows: 16, others: 10 } as const;
const WHOLE_SECONDS_MS = 1_000;
// Longer than the fine steps: two whole seconds that far apart cannot both be chance.
const LONG_ENOUGH_MS = 20;

/** What {@link BootStep} reads. */
export interface BootStepSources {
  readonly uptimeS: () => number;
  readonly monotonicMs: () => number;
  readonly isWindows: boolean;
}

/**
 * The step in which this machine's boot clock counts, measured. Node.js on Linux and Windows has one of
 * milliseconds; on macOS and FreeBSD, and in Bun and Deno, it counts whole seconds.
 *
 * A reading with a fraction shows a fine step at once. A reading without one is 1 in 100 on a fine clock:
 * only then, and only when asked within 20 ms, does the first question wait for the rest of these 20 ms.
 */
export class BootStep {
  readonly #sources: BootStepSources;
  readonly #firstMs: number;
  #stepMs: number | undefined;

  /** Takes the first reading. */
  constructor(sources: BootStepSources) {
    this.#sources = sources;
    this.#firstMs = sources.monotonicMs();
    this.#read();
  }

  /** In milliseconds. */
  get ms(): number {
    this.#stepMs ??= this.#read() ?? this.#readLater();
    return this.#stepMs;
  }

  #read(): number | undefined {
    const { uptimeS, isWindows } = this.#sources;
    if (Number.isInteger(uptimeS())) return this.#stepMs;
    this.#stepMs = isWindows ? FINE_MS.windows : FINE_MS.others;
    return this.#stepMs;
  }

  #readLater(): number {
    const { monotonicMs } = this.#sources;
    const sinceMs = monotonicMs() - this.#firstMs;
    // Close to whole seconds after the first reading a fine clock may show a whole second again.
    const isApart = sinceMs >= LONG_ENOUGH_MS && sinceMs <= WHOLE_SECONDS_MS - LONG_ENOUGH_MS;
    if (isApart) return WHOLE_SECONDS_MS;
    for (const fromMs = monotonicMs(); monotonicMs() - fromMs < LONG_ENOUGH_MS; );
    return this.#read() ?? WHOLE_SECONDS_MS;
  }
}
