import { readFileSync } from "node:fs";
import { join } from "node:path";
import { writeFigures } from "../../scripts/lib/figures.mjs";
import type { Variant } from "./variant.js";

/** A result for each measured variant, by name. */
export type Results<R> = Readonly<Record<string, R>>;

/** The median number of seeds until the variant's own catcher fails. */
export type Medians = Results<number>;

/** The number of seeds of the world until any checker fails; null if none failed. */
export type InWorld = Results<number | null>;

/** A file of results in this folder. */
export class Recorded<R> {
  readonly #path: string;

  constructor(root: string, file: string) {
    this.#path = join(root, "verification/variants", file);
  }

  read(): Results<R> {
    return JSON.parse(readFileSync(this.#path, "utf8")) as Results<R>;
  }

  /** Writes new results, in the order of the variants, and keeps the earlier results of the remaining variants. */
  write(variants: readonly Variant[], results: ReadonlyMap<string, R>): void {
    const all = { ...this.read(), ...Object.fromEntries(results) };
    const known = variants.filter(({ name }) => all[name] !== undefined);
    const kept = Object.fromEntries(known.map(({ name }) => [name, all[name]]));
    writeFigures(this.#path, `${JSON.stringify(kept, undefined, 2)}\n`);
  }
}
