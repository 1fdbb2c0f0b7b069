// Prints the states that Z3 found, for people.

import { CHANGING, FIXED, fixed } from "./protocol.mjs";

const FUNCTIONS = Object.entries({ ...FIXED, ...CHANGING });

/** Values that mean something only where another one is true, or not 0. */
const ONLY_WHERE = {
  seen: ["seenHolder", "seenVersion", "seenSession", "seenLen", "seenHasEnd", "watchedFrom"],
  sent: ["claims", "frees", "byHolder", "sentAt", "len", "hasEnd", "setsEnd"],
  granted: ["fence", "number"],
  held: ["until", "current"],
  renewalSent: ["of", "renewedAt", "isMove", "renewsEnd"],
  grants: ["length", "writtenAt", "version", "highest"],
  ...{ seenHasEnd: ["seenEnd"], hasEnd: ["end"], renewsEnd: ["newEnd"], isMove: ["atVersion"] },
  ...{ moving: ["session"], ends: ["endsAt"] },
};

const NOTHING = ["false", "0", "nobody", "noRenewal"];

/** The terms whose values {@link linesOf} needs. */
export const termsOf = (elements, state) =>
  elements.flatMap(([sort, name]) => [
    name,
    ...FUNCTIONS.filter(([, [of]]) => of === sort).map(([one]) => (state[one] ?? fixed[one])(name)),
  ]);

/** Parses what get-value printed for these terms. */
export function valuesOf(terms, text) {
  const tokens = text.match(/[()]|[^\s()]+/g) ?? [];
  const read = () => {
    const token = tokens.shift();
    if (token !== "(") return token;
    const parts = [];
    while (tokens[0] !== ")") parts.push(read());
    tokens.shift();
    return parts;
  };
  const values = read().map((pair) => pair.at(-1));
  return new Map(terms.map((term, index) => [term, values[index]]));
}

function numberOf(value) {
  if (!Array.isArray(value)) return Number(value);
  const [sign, first, second] = value;
  return sign === "-" ? -numberOf(first) : numberOf(first) / numberOf(second);
}

/** Whether Z3 made this value: an element, which has no name of its own. */
const isElement = (value) => typeof value === "string" && value.includes("!val!");

/** A value for people. Equal elements have the name of the first of them. */
export function shown(term, values, elements) {
  const value = values.get(term);
  if (value === "true" || value === "false") return value;
  if (!isElement(value)) return String(Math.round(numberOf(value) * 1_000) / 1_000);
  return elements.find(([, name]) => values.get(name) === value)?.[1] ?? "another";
}

/** One line for each element that takes part in a state. */
export function linesOf(elements, state, values) {
  return elements.flatMap(([sort, name]) => {
    if (name.startsWith("no") || shown(name, values, elements) !== name) return [];
    const has = new Map(
      FUNCTIONS.filter(([, [of]]) => of === sort).map(([one]) => {
        const term = (state[one] ?? fixed[one])(name);
        return [one, shown(term, values, elements)];
      }),
    );
    const hides = ([where, names]) => (NOTHING.includes(has.get(where) ?? "") ? names : []);
    const hidden = new Set(Object.entries(ONLY_WHERE).flatMap(hides));
    const parts = [...has].filter(([, value]) => value !== "false" && !value.startsWith("no"));
    const told = parts.filter(([one]) => !hidden.has(one));
    const text = told.map(([one, value]) => (value === "true" ? one : `${one} ${value}`));
    return text.length === 0 ? [] : [`${sort.toLowerCase()} ${name}: ${text.join(", ")}`];
  });
}
