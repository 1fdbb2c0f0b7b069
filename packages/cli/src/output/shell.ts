import { visible } from "holdfast/internal";

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

/** Returns whether a process can get the text as a word of its command line. */
export function isWord(text: string): boolean {
  return !text.includes("\0");
}

/**
 * Quotes a word for a POSIX shell.
 *
 * A terminal acts on control characters, and other invisible characters hide what the line does. So a word with such a
 * character is written in octal, as `$'...'`, which bash, zsh, ksh and POSIX of 2024 know, but not every older `sh`.
 */
export function quoted(word: string): string {
  if (visible(word) !== word) return `$'${octal(word)}'`;
  return PLAIN.test(word) ? word : `'${word.replaceAll("'", "'\\''")}'`;
}

/** All characters but plain ones as the octal digits of their bytes in UTF-8. */
function octal(word: string): string {
  const bytesOf = (text: string): string[] =>
    [...Buffer.from(text)].map((byte) => `\\${byte.toString(8).padStart(3, "0")}`);
  return word.replace(/[^\w ./:@-]/gu, (character) => bytesOf(character).join(""));
}

/** An option with its value. A value with a leading dash must not look like the next option. */
export function optionText(option: string, value: string): string {
  return `${option}${value.startsWith("-") ? "=" : " "}${quoted(value)}`;
}

/** A command of holdfast with one name, and options for a shell. Two dashes stand before a name with a leading dash. */
export function commandText(verb: string, name: string, options: readonly string[]): string {
  const words = name.startsWith("-")
    ? [verb, ...options, "--", quoted(name)]
    : [verb, quoted(name), ...options];
  return ["holdfast", ...words].join(" ");
}
