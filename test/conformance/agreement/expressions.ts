import fc from "fast-check";

/**
 * Random expressions over few attributes, mostly valid and from the whole grammar. The few attributes let a
 * request test the result of an earlier write. Some expressions have an extra, missing or misplaced token.
 */

/** The values of `:placeholders` in generated expressions. */
export const VALUES: { readonly [name: string]: unknown } = {
  ":s": { S: "a" },
  ":t": { S: "b" },
  ":ab": { S: "ab" },
  ":empty": { S: "" },
  ":utf": { S: "\u{1f600}" },
  ":bmp": { S: "\uffee" },
  ":n": { N: "1" },
  ":m": { N: "2.5" },
  ":neg": { N: "-3e2" },
  ":zero": { N: "0" },
  ":big": { N: "12345678901234567890123456789012345678" },
  ":huge": { N: "9e125" },
  ":tiny": { N: "1e-130" },
  ":b": { B: "YQ==" },
  ":bb": { B: "YWI=" },
  ":yes": { BOOL: true },
  ":no": { BOOL: false },
  ":null": { NULL: true },
  ":ss": { SS: ["a", "b"] },
  ":sx": { SS: ["b"] },
  ":ns": { NS: ["1", "2.5"] },
  ":bs": { BS: ["YQ==", "YWI="] },
  ":l": { L: [{ S: "a" }, { N: "1" }] },
  ":deep": { L: [{ M: { y: { N: "7" } } }, { L: [{ S: "b" }] }] },
  ":map": { M: { x: { N: "1" }, y: { S: "a" } } },
  ":nest": { M: { x: { L: [{ S: "a" }, { M: { y: { N: "2.5" } } }] } } },
  ":type": { S: "S" },
  ":typen": { S: "N" },
};

/** The names of `#placeholders` in generated expressions. */
export const NAMES: { readonly [name: string]: string } = {
  "#a": "a",
  "#x": "x",
  "#reserved": "status",
  "#dotted": "a.x",
  "#pk": "pk",
};

const path = fc.oneof(
  { weight: 12, arbitrary: fc.constantFrom("a", "b", "c", "d") },
  {
    weight: 8,
    arbitrary: fc.constantFrom(
      "a.x",
      "a.y",
      "b[0]",
      "b[1]",
      "c.x[0]",
      "c.x[1].y",
      "b[0].y",
      "a.x.y",
    ),
  },
  { weight: 3, arbitrary: fc.constantFrom("#a", "a.#x", "#reserved", "#dotted", "b[7]", "b[9]") },
  { weight: 1, arbitrary: fc.constantFrom("pk", "sk", "#pk") },
  {
    weight: 1,
    arbitrary: fc.constantFrom("status", "a.value", "pk.x", "sk[0]", "#nope", "b[99999999999]"),
  },
);

const valueName = fc.oneof(
  { weight: 40, arbitrary: fc.constantFrom(...Object.keys(VALUES)) },
  { weight: 20, arbitrary: fc.constantFrom(":s", ":n", ":l", ":ss", ":map") },
  { weight: 1, arbitrary: fc.constant(":nope") },
);

const join = (...parts: readonly fc.Arbitrary<string>[]): fc.Arbitrary<string> =>
  fc.tuple(...parts).map((texts) => texts.join(""));
const text = (constant: string): fc.Arbitrary<string> => fc.constant(constant);
const call = (name: string, ...operands: readonly fc.Arbitrary<string>[]): fc.Arbitrary<string> =>
  fc.tuple(...operands).map((texts) => `${name}(${texts.join(", ")})`);

const plain = fc.oneof(path, valueName);

const operand = fc.oneof(
  { weight: 10, arbitrary: path },
  { weight: 10, arbitrary: valueName },
  { weight: 2, arbitrary: call("size", plain) },
  { weight: 1, arbitrary: join(text("("), plain, text(")")) },
);

const oddCall = fc.oneof(
  call("if_not_exists", path, plain),
  call("list_append", plain, plain),
  call("unheard_of", plain),
  call("size", plain, plain),
  call("size", call("size", path)),
  call("attribute_exists", plain, plain),
  call("contains", path),
  call("begins_with", plain, call("size", path)),
  join(text("(("), plain, text("))")),
);

const comparator = fc.constantFrom(" = ", " <> ", " < ", " <= ", " > ", " >= ", "=", "<>");

const test = fc.oneof(
  { weight: 8, arbitrary: join(operand, comparator, operand) },
  { weight: 3, arbitrary: join(operand, text(" BETWEEN "), operand, text(" AND "), operand) },
  { weight: 1, arbitrary: join(operand, text(" IN ("), operand, text(", "), operand, text(")")) },
  { weight: 1, arbitrary: join(path, text(" in ("), valueName, text(")")) },
  { weight: 3, arbitrary: call("attribute_exists", path) },
  { weight: 3, arbitrary: call("attribute_not_exists", path) },
  {
    weight: 2,
    arbitrary: call("attribute_type", plain, fc.oneof(text(":type"), text(":typen"), plain)),
  },
  { weight: 3, arbitrary: call("begins_with", plain, plain) },
  { weight: 3, arbitrary: call("contains", plain, plain) },
  { weight: 1, arbitrary: join(oddCall, comparator, operand) },
  { weight: 1, arbitrary: oddCall },
);

const sound = fc.letrec<{ condition: string }>((tie) => ({
  condition: fc.oneof(
    { depthSize: "small", withCrossShrink: true },
    { weight: 6, arbitrary: test },
    { weight: 2, arbitrary: join(tie("condition"), text(" AND "), tie("condition")) },
    { weight: 2, arbitrary: join(tie("condition"), text(" or "), tie("condition")) },
    { weight: 1, arbitrary: join(text("NOT "), tie("condition")) },
    { weight: 2, arbitrary: join(text("("), tie("condition"), text(")")) },
  ),
})).condition;

const setValue = fc.oneof(
  { weight: 6, arbitrary: valueName },
  { weight: 4, arbitrary: path },
  { weight: 3, arbitrary: call("if_not_exists", path, plain) },
  { weight: 3, arbitrary: call("list_append", plain, plain) },
  {
    weight: 2,
    arbitrary: call("list_append", call("if_not_exists", path, text(":l")), text(":l")),
  },
  { weight: 5, arbitrary: join(plain, fc.constantFrom(" + ", " - ", "+"), plain) },
  {
    weight: 3,
    arbitrary: join(call("if_not_exists", path, text(":zero")), text(" + "), text(":n")),
  },
  { weight: 1, arbitrary: join(text("("), plain, text(" + "), plain, text(")")) },
  { weight: 1, arbitrary: join(text("("), plain, text(" + "), plain, text(") - "), plain) },
  {
    weight: 1,
    arbitrary: fc.oneof(oddCall, call("size", path), join(oddCall, text(" + "), plain)),
  },
);

const list = (one: fc.Arbitrary<string>): fc.Arbitrary<string> =>
  fc.array(one, { minLength: 1, maxLength: 3 }).map((parts) => parts.join(", "));

const section = {
  set: list(join(path, text(" = "), setValue)).map((actions) => `SET ${actions}`),
  remove: list(path).map((actions) => `REMOVE ${actions}`),
  add: list(
    join(
      path,
      text(" "),
      fc.oneof(fc.constantFrom(":n", ":m", ":ss", ":sx", ":ns", ":bs"), valueName),
    ),
  ).map((actions) => `ADD ${actions}`),
  delete: list(
    join(path, text(" "), fc.oneof(fc.constantFrom(":ss", ":sx", ":ns", ":bs"), valueName)),
  ).map((actions) => `delete ${actions}`),
};

/** Changes that fit most items of `items.ts`: `a` and `c` are maps, `b` is a list, `d` is a number. */
const FITTING: { readonly [section: string]: readonly (readonly string[])[] } = {
  SET: [
    ["a.x = :n", "a.z = :deep", "a.y = if_not_exists(a.y, :s)", "a.z = a"],
    ["b[0] = :s", "b[1] = b[0]", "b[9] = :t", "b = list_append(b, :l)", "b = list_append(:l, b)"],
    ["c.x[0] = :ab", "c.x[1].y = :m", "c.x[7] = c.x[0]", "c.y = b", "c = a"],
    ["d = d + :n", "d = d - :m", "d = if_not_exists(d, :zero) + :n", "d = :ss"],
  ],
  REMOVE: [
    ["a.x", "a.y", "a"],
    ["b[0]", "b[1], b[0]", "b[7]"],
    ["c.x[0]", "c.x"],
    ["d", "#reserved"],
  ],
  ADD: [["a.x :n", "a.z :ss"], ["b[0] :n"], ["c.q :bs"], ["d :m", "d :ss", "#reserved :sx"]],
  DELETE: [["a.z :sx"], ["b[9] :ss"], ["c.q :bs"], ["d :sx", "#reserved :sx", "#reserved :ss"]],
};

/** One change for each of some roots, grouped into sections. */
const fittingUpdate = fc
  .array(fc.tuple(fc.constantFrom("SET", "SET", "REMOVE", "ADD", "DELETE"), fc.nat(5)), {
    minLength: 4,
    maxLength: 4,
  })
  .chain((choices) => {
    const picked = choices.map(([name, chance], root) =>
      // The roots differ, so that no two paths exclude each other; about half of the roots stay unchanged.
      fc.tuple(
        fc.constant(name),
        fc.constantFrom(...(FITTING[name]?.[root] ?? [])),
        fc.constant(chance < 3),
      ),
    );
    return fc.tuple(...picked);
  })
  .map((picked) => {
    const wanted = picked.filter(([, , isWanted], index) => isWanted || index === 0);
    return Object.keys(FITTING)
      .map(
        (name) =>
          [name, wanted.filter(([own]) => own === name).map(([, action]) => action)] as const,
      )
      .filter(([, actions]) => actions.length > 0)
      .map(([name, actions]) => `${name} ${actions.join(", ")}`)
      .join(" ");
  });

const soundUpdate = fc.oneof(
  { weight: 24, arbitrary: fittingUpdate },
  { weight: 8, arbitrary: section.set },
  { weight: 3, arbitrary: section.remove },
  { weight: 4, arbitrary: section.add },
  { weight: 3, arbitrary: section.delete },
  { weight: 3, arbitrary: join(section.set, text(" "), section.remove) },
  { weight: 2, arbitrary: join(section.add, text(" "), section.set) },
  { weight: 1, arbitrary: join(section.remove, text(" "), section.delete, text(" "), section.add) },
  { weight: 1, arbitrary: join(section.set, text(" "), section.remove, text(" "), section.set) },
);

const TOKEN = /[#:]?\w+|<>|<=|>=|\S/g;
const STRAY = [
  ..."()[].,=<>+-*;",
  "AND",
  "NOT",
  "BETWEEN",
  "SET",
  "remove",
  "a",
  ":s",
  "#a",
  "0",
  "7",
  "_",
];

/** Sometimes removes, doubles, replaces or adds a token. */
function scarred(expression: fc.Arbitrary<string>): fc.Arbitrary<string> {
  const wound = fc.record({
    at: fc.nat(40),
    kind: fc.constantFrom("remove", "double", "replace", "add"),
    stray: fc.constantFrom(...STRAY),
  });
  const scar = fc.oneof(
    { weight: 9, arbitrary: fc.constant(undefined) },
    { weight: 1, arbitrary: wound },
  );
  return fc.tuple(expression, scar).map(([whole, found]) => {
    if (found === undefined) return whole;
    const tokens = whole.match(TOKEN) ?? [];
    const at = found.at % Math.max(1, tokens.length);
    const token = tokens[at] ?? "";
    const instead =
      {
        remove: [],
        double: [token, token],
        replace: [found.stray],
        add: [found.stray, token],
      }[found.kind] ?? [];
    return tokens.toSpliced(at, 1, ...instead).join(" ");
  });
}

/** A condition or a filter. */
export const condition = scarred(sound);

/** An update expression. */
export const update = scarred(soundUpdate);

/** A projection. */
export const projection = scarred(
  fc.array(path, { minLength: 1, maxLength: 4 }).map((paths) => paths.join(", ")),
);

const rangeTest = fc.oneof(
  join(text("sk"), fc.constantFrom(" = ", " < ", " <= ", " > ", " >= ", " <> "), text(":sk")),
  join(text(":sk"), fc.constantFrom(" = ", " < ", " >= "), text("sk")),
  text("sk BETWEEN :sk AND :sk2"),
  text("begins_with(sk, :sk)"),
  text("(sk > :sk)"),
);

/** A query's condition on the key; `:pk`, `:sk` and `:sk2` are keys. */
export const keyCondition = scarred(
  fc.oneof(
    { weight: 4, arbitrary: text("pk = :pk") },
    { weight: 1, arbitrary: text("#pk = :pk") },
    { weight: 8, arbitrary: join(text("pk = :pk AND "), rangeTest) },
    { weight: 2, arbitrary: join(rangeTest, text(" AND pk = :pk")) },
    { weight: 1, arbitrary: join(text("pk = :pk AND "), test) },
    { weight: 1, arbitrary: join(text("pk = :pk OR "), rangeTest) },
    { weight: 1, arbitrary: sound },
  ),
);
