// Windows counts in ticks of 15.6 ms. Other systems with a fine clock report hundredths of a second.
const FINE_MS = { windows: 16, others: 10 } as const;
const WHOLE_SECONDS_MS = 1_000;
// Longer than the fine steps: if two readings this far apart are whole seconds, the clock counts whole seconds.
const LONG_ENOUGH_MS = 20;

/** The clocks that {@link BootStep} reads. */
interface BootStepSources {
  readonly uptimeS: () => number;
  readonly monotonicMs: () => number;
  readonly isWindows: boolean;
}

/**
 * Measures the resolution (the step) of this machine's boot clock. Node.js on Linux and Windows has a step of
 * milliseconds; Node.js on macOS and FreeBSD, Bun and Deno count whole seconds.
 *
 * A reading with a fraction proves a fine step. On a fine clock, 1 reading in 100 has no fraction. If neither of two
 * readings has one, and they are not clearly apart, `ms` waits 20 ms and reads again.
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

  /** The step in milliseconds. */
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
    // Near a whole second after the first reading, a fine clock may show a whole second again.
    const isApart = sinceMs >= LONG_ENOUGH_MS && sinceMs <= WHOLE_SECONDS_MS - LONG_ENOUGH_MS;
    if (isApart) return WHOLE_SECONDS_MS;
    for (const fromMs = monotonicMs(); monotonicMs() - fromMs < LONG_ENOUGH_MS; );
    return this.#read() ?? WHOLE_SECONDS_MS;
  }
}
