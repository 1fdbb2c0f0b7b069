/**
 * Command lines of holdfast for people to copy. A name or a holder in them may be another tenant's text: with
 * `$(...)`, blanks or a leading dash the copied line would do something else.
 */

// No shell, and no command, gives such a word a meaning of its own.
const PLAIN = /^[\w./:@][\w./:@-]*$/;

/** Returns the words as a command line; undefined unless all texts in it are plain. Pure. */
export function commandLine(
  words: readonly string[],
  texts: readonly (string | undefined)[],
): string | undefined {
  const isPlain = texts.every((text) => text === undefined || PLAIN.test(text));
  return isPlain ? ["holdfast", ...words].join(" ") : undefined;
}
