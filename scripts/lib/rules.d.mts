/** A document with numbered rules. */
export interface RuleDocument {
  readonly path: string;
  readonly row: RegExp;
  idOf(number: string): string;
}

export interface NumberedRule {
  /** The id in tests: `R4`, `protocol 16`, `object-commit 2`. */
  readonly id: string;
  readonly number: string;
  readonly rule: string;
  readonly invariant: string | undefined;
}

export interface TaggedTest {
  readonly rule: string;
  readonly file: string;
  /** `it`, `it.each`, `describe.skip`, ... */
  readonly declaration: string;
  readonly title: string;
}

export const DOCUMENTS: readonly RuleDocument[];
export function rulesOf(root: string, document: RuleDocument): NumberedRule[];
export function taggedTests(root: string): TaggedTest[];
export function tagsIn(file: string, text: string): TaggedTest[];
