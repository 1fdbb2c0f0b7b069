/** A rule of the protocol, as ARCHITECTURE.md numbers them. */
export type Rule = `R${1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9 | 10 | 11 | 12 | 13 | 14}`;

/** One piece of source text in the place of another. */
export interface Edit {
  /** Relative to the checkout. */
  readonly file: string;
  /** As it stands in the file, exactly once. */
  readonly from: string;
  readonly to: string;
}

/** The simulation: a seed in which this invariant falls is found among the first `within`. */
export interface InSimulation {
  readonly invariant: string;
  readonly within: number;
  /** Of fair locks, or of the occurrences of tasks; left out: that of the kernel. */
  readonly of?: "fair locks" | "occurrences";
  /** Which of the ranges, from 1, `npm test` hunts in, where the first takes it long; default 1. */
  readonly shortRange?: number;
}

/** The first seed of a range, from 1; far enough apart that no range reaches the next one. */
export function firstSeedOf(range: number): number {
  return (range - 1) * 100_000 + 1;
}

/** A test, by its file and its title (of `it.each`, as it is written). */
export interface InTest {
  readonly test: string;
  readonly title: string;
}

/** The shipped code with one error in it, and what must find the error. */
export interface Variant {
  /** In words joined by hyphens. */
  readonly name: string;
  /** The error, in words. */
  readonly what: string;
  /** The rules that it breaks; none where the table, not the kernel, is at fault. */
  readonly rules: readonly Rule[];
  readonly edits: readonly Edit[];
  readonly caughtBy: InSimulation | InTest;
}

/** Whether the simulation is what catches it. */
export function isSimulated(
  variant: Variant,
): variant is Variant & { readonly caughtBy: InSimulation } {
  return "invariant" in variant.caughtBy;
}

/** The files that a variant changes. */
export function filesOf(variant: Variant): string[] {
  return [...new Set(variant.edits.map(({ file }) => file))];
}

/**
 * A file's text with the error in it. Throws unless each text to be replaced stands there exactly once:
 * a variant that no longer changes anything would be a test that cannot fail.
 */
export function changedText(variant: Variant, file: string, text: string): string {
  let changed = text;
  for (const { from, to } of variant.edits.filter((edit) => edit.file === file)) {
    const times = changed.split(from).length - 1;
    if (times !== 1) {
      throw new Error(
        `Variant "${variant.name}": what it replaces stands ${times} times in ${file}:\n${from}`,
      );
    }
    changed = changed.replace(from, () => to);
  }
  return changed;
}
