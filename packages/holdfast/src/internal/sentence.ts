/** Ends a text with a full stop. */
export function asSentence(text: string): string {
  return text.endsWith(".") ? text : `${text}.`;
}
