// The few terms of SMT-LIB that the proof needs, as text.

const list = (head, parts) => `(${head} ${parts.join(" ")})`;

/** The first part is the common case, so an empty or single list needs no connective. */
const join = (head, neutral) => (parts) => {
  const relevant = parts.flat().filter((part) => part !== neutral);
  if (relevant.length === 0) return neutral;
  return relevant.length === 1 ? relevant[0] : list(head, relevant);
};

const allOf = join("and", "true");
const anyOf = join("or", "false");
export const all = (...parts) => allOf(parts);
export const any = (...parts) => anyOf(parts);
export const not = (part) => `(not ${part})`;
export const implies = (left, ...right) => `(=> ${left} ${all(...right)})`;
export const same = (left, right) => (left === right ? "true" : `(= ${left} ${right})`);
export const differ = (left, right) => not(same(left, right));
export const choose = (condition, left, right) => `(ite ${condition} ${left} ${right})`;
export const plus = (...parts) => list("+", parts);
export const minus = (left, right) => `(- ${left} ${right})`;
export const times = (left, right) => `(* ${left} ${right})`;
export const over = (left, right) => `(/ ${left} ${right})`;
export const atMost = (left, right) => `(<= ${left} ${right})`;
export const less = (left, right) => `(< ${left} ${right})`;
export const larger = (left, right) => choose(less(left, right), right, left);
export const apply = (name, of) => `(${name} ${of})`;
