import { readFileSync } from "node:fs";
import { join } from "node:path";
import type { WorldKind } from "../sim/world/traits.js";
import { type Exported, exportsOf, filesOf, occurrencesOf, patched } from "./patch.js";

/** A rule in ARCHITECTURE.md, by number. */
export type Rule = `R${1 | 2 | 3 | 4 | 5 | 6 | 7 | 8 | 9 | 10 | 11 | 12 | 13 | 14}`;

/** Replaces a piece of source text. */
export interface Edit {
  /** A value which the file exports, as `{ name }`. */
  readonly in: Exported;
  /** Occurs in the file exactly once. White space and comments do not count. */
  readonly from: string;
  readonly to: string;
}

/** Caught by the simulation: one of the first `within` seeds violates this invariant. */
export interface InSimulation {
  readonly invariant: string;
  readonly within: number;
  /** A kind of world, or the simulation of assignments; absent: of the core. */
  readonly of?: WorldKind | "assignments";
}

/** Returns the first seed of a range, from 1. Ranges are far enough apart not to overlap. */
export function firstSeedOf(range: number): number {
  return (range - 1) * 100_000 + 1;
}

/** A test, by file and title (for `it.each`, the title in the source). */
export interface InTest {
  readonly test: string;
  readonly title: string;
}

/** The shipped code with one defect, and the check which must catch the defect. */
export interface Variant {
  /** Words joined by hyphens. */
  readonly name: string;
  /** The defect, in one sentence. */
  readonly what: string;
  /** The broken rules; empty if the fault is the table's, not the core's. */
  readonly rules: readonly Rule[];
  readonly edits: readonly Edit[];
  readonly caughtBy: InSimulation | InTest;
}

/** Whether the simulation catches the variant. */
export function isSimulated(
  variant: Variant,
): variant is Variant & { readonly caughtBy: InSimulation } {
  return "invariant" in variant.caughtBy;
}

/** Returns the files which a variant changes, each with its changed text. */
export function changedFiles(
  root: string,
  variant: Pick<Variant, "name" | "edits">,
): ReadonlyMap<string, string> {
  const exports = exportsOf(root);
  const changed = new Map<string, string>();
  const textOf = (file: string): string =>
    changed.get(file) ?? readFileSync(join(root, file), "utf8");
  for (const { in: symbol, from, to } of variant.edits) {
    const files = filesOf(exports, symbol);
    // Two files may export the same name, for example a CLI command and its function.
    const file = files.find((one) => occurrencesOf(textOf(one), from) === 1) ?? files[0] ?? "";
    const title = `Variant "${variant.name}": the text to replace in ${file}`;
    changed.set(file, patched(textOf(file), from, to, title));
  }
  return changed;
}
