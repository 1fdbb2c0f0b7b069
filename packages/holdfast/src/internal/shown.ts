/**
 * Makes text from other clients safe to display. Owners and reasons may be as long as an item, and may contain
 * terminal control sequences or forged log lines. The text is cut before any other step, so the cost never
 * depends on its length.
 */

// Long enough for a label and a sentence, and short enough for a line of a log.
const MOST_CHARACTERS = 200;

/** Cuts text to `most` characters, with an ellipsis as the last, and escapes control characters. */
export function shown(text: string, most = MOST_CHARACTERS): string {
  return visible(cut(text, most));
}

/** The text of what a run threw, for its record: cut, so that the record stays below 1 KB, and a write costs one unit. */
export function textOf(error: unknown): string {
  try {
    return shown(String(error), 300);
  } catch {
    return "an error without text";
  }
}

// Not the joiners and the variation selectors inside of emoji, which can be seen.
const HIDDEN =
  /(?!(?<=\p{Extended_Pictographic}\u{fe0f}?)\u{200d}(?=\p{Extended_Pictographic})|(?<=\p{Extended_Pictographic})\u{fe0f})[\p{Cc}\p{Cf}\p{DI}\u{2800}\u{1d159}]|[^\S ]/gu;

/**
 * Replaces each character that acts on a terminal, reverses text, breaks a line, or cannot be seen: blank letters, such
 * as the fillers of Hangul, and every blank but the space. Two names that differ in such a character look alike.
 */
export function withoutHidden(text: string, replace: (character: string) => string): string {
  return text.replace(HIDDEN, replace);
}

/** Escapes hidden characters as `\u` escapes. */
export function visible(text: string): string {
  return withoutHidden(
    text,
    (character) => `\\u${character.codePointAt(0)?.toString(16).padStart(4, "0")}`,
  );
}

function cut(text: string, most: number): string {
  return text.length <= most ? text : `${startOf(text, most - 1)}…`;
}

/** The first `most` characters, without half of a surrogate pair, which would be sent as U+FFFD. */
export function startOf(text: string, most: number): string {
  return text.slice(0, most).replace(/\p{Surrogate}$/u, "");
}
