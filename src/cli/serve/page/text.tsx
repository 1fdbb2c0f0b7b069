/** Text for people. */

export function length(ms: number | undefined): string {
  if (ms === undefined) return "–";
  const seconds = Math.round(ms / 1_000);
  if (seconds < 120) return `${seconds} s`;
  if (seconds < 7_200) return `${Math.floor(seconds / 60)} min`;
  if (seconds < 172_800) return `${Math.floor(seconds / 3_600)} h`;
  return `${Math.floor(seconds / 86_400)} d`;
}

export function units(count: number | undefined): string {
  return count === undefined ? "unknown" : String(Math.round(count * 10) / 10);
}

/** A name or label from the table: isolated, so that right-to-left text moves nothing around it. */
export function Foreign({ text }: { readonly text: string | undefined }) {
  return <bdi>{text === undefined || text === "" ? "–" : visible(text)}</bdi>;
}

/** Shows control characters, which could reorder or hide text, by their code. */
export function visible(text: string): string {
  return text.replace(
    /[\p{Cc}\p{Zl}\p{Zp}\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069]/gu,
    (one) => `\\u${one.charCodeAt(0).toString(16).padStart(4, "0")}`,
  );
}
