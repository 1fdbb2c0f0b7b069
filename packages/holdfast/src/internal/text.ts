/** Copies the first `most` characters of a text. A slice would keep the whole text in memory. */
export function copyOfStart(text: string, most: number): string {
  if (text.length <= most) return text;
  return Buffer.from(text.slice(0, most), "utf16le").toString("utf16le");
}
