import { existsSync, readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** Help for a machine without libfaketime. */
export const HOW_TO_GET_FAKETIME =
  "libfaketime skews and steps the clocks: on Debian or Ubuntu `apt-get install faketime`. " +
  "Without libfaketime, use `--no-clocks` to skip these faults.";

/** Returns the library for multi-threaded programs, if installed in the usual place on Linux. */
export function faketimeLibrary(): string | undefined {
  const places = ["/usr/lib", "/usr/lib64", "/usr/local/lib"].flatMap((place) =>
    existsSync(place) ? [place, ...readdirSync(place).map((name) => join(place, name))] : [],
  );
  return places
    .map((place) => join(place, "faketime", "libfaketimeMT.so.1"))
    .find((path) => existsSync(path));
}

/**
 * The clocks of one worker process, as libfaketime sets them, in one of two manners:
 *
 * - *stepped*: the wall clock starts with an error and is stepped while the process runs. The monotonic clock is
 *   exact: libfaketime would step the monotonic clock too, which no real clock does and Node.js does not survive.
 * - *drifting*: the monotonic and the wall clock run at one rate from the start, without steps.
 *
 * libfaketime does not change `os.uptime()`: Node.js reads the uptime from the system.
 */
export type ClockManner =
  | { readonly kind: "stepped"; readonly skewMs: number }
  | { readonly kind: "drifting"; readonly rate: number };

/** The file which sets the clocks of a process. */
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

  /** The environment variables of the process. */
  get environment(): Readonly<Record<string, string>> {
    return {
      LD_PRELOAD: this.#library,
      FAKETIME_TIMESTAMP_FILE: this.#file,
      FAKETIME_NO_CACHE: "1",
      FAKETIME_DONT_FAKE_MONOTONIC: this.manner.kind === "stepped" ? "1" : "0",
    };
  }

  /** Steps the wall clock, forwards or backwards. */
  step(byMs: number): void {
    this.#offsetMs += byMs;
    this.#write();
  }

  #write(): void {
    const { manner } = this;
    const seconds = `${this.#offsetMs < 0 ? "" : "+"}${(this.#offsetMs / 1000).toFixed(3)}`;
    const rate = manner.kind === "drifting" ? ` x${manner.rate}` : "";
    // The process reads the file whenever it reads a clock: replace the file atomically.
    writeFileSync(`${this.#file}.next`, `${seconds}${rate}\n`);
    renameSync(`${this.#file}.next`, this.#file);
  }
}

/** Removes what libfaketime leaves behind after a kill; a later process with the same id would find it. */
export function tidyAfter(pid: number): void {
  for (const name of [`faketime_shm_${pid}`, `sem.faketime_sem_${pid}`]) {
    rmSync(join("/dev/shm", name), { force: true });
  }
}
