import type {
  AttributeValue,
  Condition,
  Item,
} from "../../../packages/holdfast/src/platform/table.js";
import { numberIn, textIn } from "../items.js";

/** A key as text. */
export function keyText(key: Item): string {
  return `${textIn(key, "pk")} ${textIn(key, "sk")}`;
}

/** Every condition in a condition, itself included. */
export function* partsOf(condition: Condition): Iterable<Condition> {
  yield condition;
  if ("of" in condition) for (const part of condition.of) yield* partsOf(part);
}

/** What a condition requires of the holder: of the parts of an `all`, together. */
export interface Named {
  readonly holder: string;
  readonly version: bigint | undefined;
  readonly fence: bigint | undefined;
  readonly session: string | undefined;
}

const NAMED = new WeakMap<Condition, readonly Named[]>();

/** Every holder that a condition accepts, with what it requires besides. Each rule asks this of each write. */
export function namedIn(condition: Condition): readonly Named[] {
  const known = NAMED.get(condition) ?? foundIn(condition);
  NAMED.set(condition, known);
  return known;
}

function foundIn(condition: Condition): Named[] {
  const found: Named[] = [];
  for (const part of partsOf(condition)) {
    const parts = part.kind === "all" ? required(part) : [part];
    const value = (attribute: string): AttributeValue | undefined => {
      const one = parts.find((it) => it.kind === "equals" && it.attribute === attribute);
      return one !== undefined && "value" in one && !("member" in one) ? one.value : undefined;
    };
    const item: Record<string, AttributeValue> = {};
    for (const attribute of ["holder", "version", "fence", "session"]) {
      const known = value(attribute);
      if (known !== undefined) item[attribute] = known;
    }
    const holder = textIn(item, "holder");
    if (holder === undefined) continue;
    // The parts of an `all` are found again one by one.
    if (part.kind !== "all" && found.some((one) => one.holder === holder)) continue;
    const [version, fence] = [numberIn(item, "version"), numberIn(item, "fence")];
    found.push({ holder, version, fence, session: textIn(item, "session") });
  }
  return mostOf(found);
}

// An `all` within an `all` is found twice: once with all that is required, and once with a part of it.
function mostOf(all: readonly Named[]): Named[] {
  const weight = ({ version, fence, session }: Named): number =>
    [version, fence, session].filter((one) => one !== undefined).length;
  const best = new Map<string, Named>();
  for (const one of all) {
    const known = best.get(one.holder);
    if (known === undefined || weight(one) > weight(known)) best.set(one.holder, one);
  }
  return [...best.values()];
}

/** The conditions that must all hold. */
export function required(condition: Condition): Condition[] {
  return condition.kind === "all" ? condition.of.flatMap(required) : [condition];
}
