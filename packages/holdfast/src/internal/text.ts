import { startOf } from "./shown.js";

/** Copies the first `most` characters of a text. A slice would keep the whole text in memory. */
export function copyOfStart(text: string, most: number): string {
  if (text.length <= most) return text;
  return Buffer.from(startOf(text, most), "utf16le").toString("utf16le");
}

/** A length of time for a message, as "1.5 s". */
export function seconds(ms: number): string {
  return `${(ms / 1_000).toFixed(1)} s`;
}
