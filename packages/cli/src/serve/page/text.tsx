import { visible } from "holdfast/internal";
import { lengthText } from "../length-text.js";

export { visible };

/** Text for people. */

/** Writes a length of time, or a dash if it is unknown. */
export function length(ms: number | undefined): string {
  return ms === undefined ? "–" : lengthText(ms);
}

/** Writes a number of read units with one decimal. */
export function readUnits(count: number | undefined): string {
  if (count === undefined) return "unknown read units";
  const rounded = Math.round(count * 10) / 10;
  return rounded === 1 ? "1 read unit" : `${rounded} read units`;
}

/** A name or label from the table: isolated, so that right-to-left text moves nothing around it. */
export function Foreign({ text }: { readonly text: string | undefined }) {
  return <bdi>{text === undefined || text === "" ? "–" : visible(text)}</bdi>;
}
