import type { Condition, Item } from "holdfast/internal";

/** The attributes of the record on which the conditions are evaluated. */
export const CONDITIONS_ITEM: Item = Object.freeze({
  holder: { S: "a" },
  version: { N: "99999999999999999999999999999999999998" },
  tail: { N: "7" },
  served: { N: "7" },
  fence: { N: "8" },
  leaseEnd: { M: { holder: { S: "a" }, at: { N: "5" } } },
});

/** A condition, and whether DynamoDB evaluates it as true. */
interface ConditionCase {
  readonly title: string;
  readonly condition: Condition;
  readonly isTrue: boolean;
}

const s = (text: string) => ({ S: text });
const n = (digits: string) => ({ N: digits });
const value = (
  kind: "equals" | "differs" | "below" | "at-least",
  attribute: string,
  than: { readonly S: string } | { readonly N: string },
  member?: string,
): Condition => ({ kind, attribute, member, value: than });
const HELD = value("equals", "holder", s("a"));
const FREE: Condition = { kind: "absent", attribute: "holder" };
const [LESS, SAME, MORE] = ["7", "8", "9"].map((digit) => n(`${"9".repeat(37)}${digit}`)) as [
  { readonly N: string },
  { readonly N: string },
  { readonly N: string },
];

const TRUE: Readonly<Record<string, Condition>> = {
  "an attribute is present": { kind: "present", attribute: "holder" },
  "an attribute is absent": { kind: "absent", attribute: "session" },
  "a text is equal": HELD,
  "a text differs": value("differs", "holder", s("b")),
  "an absent attribute differs": value("differs", "session", s("a")),
  "a number of 38 digits is equal": value("equals", "version", SAME),
  "a number of 38 digits is below": value("below", "version", MORE),
  "a number of 38 digits is at least": value("at-least", "version", SAME),
  "two attributes are the same": { kind: "same", attribute: "tail", as: "served" },
  "a member of a map is equal": value("equals", "leaseEnd", s("a"), "holder"),
  "a member of a map is below": value("below", "leaseEnd", n("6"), "at"),
  "a member of an absent map differs": value("differs", "request", s("a"), "holder"),
  "one of two conditions": { kind: "any", of: [FREE, HELD] },
  "both of two conditions, of which one has a choice": {
    kind: "all",
    of: [HELD, { kind: "any", of: [FREE, value("equals", "fence", n("8"))] }],
  },
};

const FALSE: Readonly<Record<string, Condition>> = {
  "a present attribute is absent": FREE,
  "an absent attribute is present": { kind: "present", attribute: "session" },
  "another text is equal": value("equals", "holder", s("b")),
  "an absent attribute is equal": value("equals", "session", s("a")),
  "an absent attribute is below": value("below", "dataSeq", n("1")),
  "another number of 38 digits is equal": value("equals", "version", LESS),
  "an equal number of 38 digits is below": value("below", "version", SAME),
  "two different attributes are the same": { kind: "same", attribute: "tail", as: "fence" },
  "an equal member of a map differs": value("differs", "leaseEnd", s("a"), "holder"),
  "an equal member of a map is below": value("below", "leaseEnd", n("5"), "at"),
  "both of two conditions, of which one is false": { kind: "all", of: [HELD, FREE] },
};

const casesOf = (conditions: Readonly<Record<string, Condition>>, isTrue: boolean) =>
  Object.entries(conditions).map(([title, condition]) => ({ title, condition, isTrue }));

/** The conditions of the protocol, true and false. */
export const CONDITION_CASES: readonly ConditionCase[] = [
  ...casesOf(TRUE, true),
  ...casesOf(FALSE, false),
];
