/**
 * The first characters of a text, at most `most`, as a text of their own: a slice would keep the whole one
 * in memory.
 */
export function copyOfStart(text: string, most: number): string {
  if (text.length <= most) return text;
  return Buffer.from(text.slice(0, most), "utf16le").toString("utf16le");
}
