/**
 * Text that others wrote, as it may be shown. Owners, reasons and the like may be as long as an item, and hold
 * what a terminal obeys or what forges a line of a log. Cut before it is matched or shown: nothing here takes
 * longer than its text is long.
 */

// Long enough for a label and a sentence, and short enough for a line of a log.
const MOST_CHARACTERS = 200;

/** Cuts text to `most` characters, the last of which is then an ellipsis, and makes control characters visible. */
export function shown(text: string, most = MOST_CHARACTERS): string {
  return visible(cut(text, most));
}

/** Shows control characters, and what reverses or breaks lines, as `\u` escapes. */
export function visible(text: string): string {
  return text.replace(
    /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu,
    (character) => `\\u${character.codePointAt(0)?.toString(16).padStart(4, "0")}`,
  );
}

function cut(text: string, most: number): string {
  if (text.length <= most) return text;
  const kept = text.slice(0, most - 1);
  // Half of a surrogate pair would be sent as U+FFFD.
  return `${/[\uD800-\uDBFF]$/.test(kept) ? kept.slice(0, -1) : kept}…`;
}
