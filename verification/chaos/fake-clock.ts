import { existsSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** What to tell somebody whose machine has no libfaketime. */
export const HOW_TO_GET_FAKETIME =
  "Clocks are skewed and stepped by libfaketime: on Debian or Ubuntu `apt-get install faketime`. " +
  "Without it, `--no-clocks` leaves these faults out.";

/** The library for programs with several threads, if it is installed where Linux systems have it. */
export function faketimeLibrary(): string | undefined {
  const places = ["/usr/lib", "/usr/lib64", "/usr/local/lib"].flatMap((place) =>
    existsSync(place) ? [place, ...readdirSync(place).map((name) => join(place, name))] : [],
  );
  return places
    .map((place) => join(place, "faketime", "libfaketimeMT.so.1"))
    .find((path) => existsSync(path));
}

/**
 * The clocks of one worker process, as libfaketime makes them. It is found in one of two manners:
 *
 * - *stepped*: the wall clock starts off by some amount and is stepped while the process runs. The
 *   monotonic clock is left alone: libfaketime would step it as well, which no real clock does, and
 *   which Node.js does not survive.
 * - *drifting*: the monotonic and the wall clock run at one rate from the start, and are never stepped.
 *
 * `os.uptime()` is beyond libfaketime: Node.js reads it from the system, and it stays true.
 */
export type ClockManner =
  | { readonly kind: "stepped"; readonly skewMs: number }
  | { readonly kind: "drifting"; readonly rate: number };

/** The file by which the clocks of one process are set. */
export class FakeClock {
  readonly manner: ClockManner;
  readonly #library: string;
  readonly #file: string;
  #offsetMs: number;

  constructor(library: string, file: string, manner: ClockManner) {
    this.#library = library;
    this.#file = file;
    this.manner = manner;
    this.#offsetMs = manner.kind === "stepped" ? manner.skewMs : 0;
    this.#write();
  }

  /** What the process is to be started with. */
  get environment(): Readonly<Record<string, string>> {
    return {
      LD_PRELOAD: this.#library,
      FAKETIME_TIMESTAMP_FILE: this.#file,
      FAKETIME_NO_CACHE: "1",
      FAKETIME_DONT_FAKE_MONOTONIC: this.manner.kind === "stepped" ? "1" : "0",
    };
  }

  /** Steps the wall clock, forwards or back. */
  step(byMs: number): void {
    this.#offsetMs += byMs;
    this.#write();
  }

  #write(): void {
    const { manner } = this;
    const seconds = `${this.#offsetMs < 0 ? "" : "+"}${(this.#offsetMs / 1000).toFixed(3)}`;
    const rate = manner.kind === "drifting" ? ` x${manner.rate}` : "";
    // The process reads it at every question: it must never see half of it.
    writeFileSync(`${this.#file}.next`, `${seconds}${rate}\n`);
    renameSync(`${this.#file}.next`, this.#file);
  }
}

/**
 * What libfaketime leaves behind of a killed process; it would be in the way of a later one with the
 * same id.
 */
export function tidyAfter(pid: number): void {
  for (const name of [`faketime_shm_${pid}`, `sem.faketime_sem_${pid}`]) {
    rmSync(join("/dev/shm", name), { force: true });
  }
}
