import { priceOf } from "./choices.js";
import { type KindName, kindOf } from "./kinds.js";

/** One fault in its place: what happens at which moment of which process. */
export interface Placed {
  /** A process and the number of its request, such as `a3`; or a moment of its work, such as `a.held`. */
  readonly point: string;
  readonly choice: string;
}

/** A kind of lock, and the faults of a run in the order of their moments. */
export interface Placement {
  readonly kind: KindName;
  readonly placed: readonly Placed[];
}

/** The name of a placement, by which it can be run again: `mutex: a1 answer-lost, b3 dies`. */
export function nameOf({ kind, placed }: Placement): string {
  const names = placed.map(({ point, choice }) => `${point} ${choice}`);
  return `${kind}: ${names.join(", ") || "none"}`;
}

/** Reads a placement's name. Throws if the text is none. */
export function placementOf(name: string): Placement {
  const [, kindName, rest] = /^([\w-]+): (.+)$/.exec(name.trim()) ?? [];
  const kind = kindOf(kindName ?? "")?.name;
  if (kind === undefined || rest === undefined) {
    throw new Error(`"${name}" is no placement, such as "mutex: a1 answer-lost, b3 dies".`);
  }
  if (rest === "none") return { kind, placed: [] };
  const placed = rest.split(", ").map((one): Placed => {
    const [point = "", choice = ""] = one.split(" ");
    priceOf(choice);
    return { point, choice };
  });
  return { kind, placed };
}
