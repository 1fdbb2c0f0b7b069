import { expect, it } from "vitest";
import { escapedInJson } from "../../../cli/src/output/output.js";
import { quoted } from "../../../cli/src/output/shell.js";
import { shown, visible } from "../../src/internal/shown.js";

// Fillers of Hangul, a Khmer vowel, Braille blank, a null notehead, a variation selector, blanks, a joiner.
const BLANKS =
  "\u3164\u115f\u1160\uffa0\u17b4\u2800\u{1d159}\ufe0f\u00a0\u2003\u3000\u202f\u034f\u200d\u00ad";

it.each([...BLANKS])("the blank character %j is shown by its code", (blank) => {
  const code = `\\u${blank.codePointAt(0)?.toString(16).padStart(4, "0")}`;
  expect(shown(`admin${blank}`)).toBe(`admin${code}`);
  expect(JSON.parse(escapedInJson(JSON.stringify({ a: blank })))).toEqual({ a: blank });
  expect(escapedInJson(blank)).not.toContain(blank);
  expect(quoted(`admin${blank}`)).toMatch(/^\$'admin(?:\\\d{3})+'$/);
});

it("joiners and selectors are shown by their code only outside of emoji", () => {
  const emoji = "🔒 👩\u200d👩\u200d👧 ❤\ufe0f\u200d🔥";
  expect(visible(emoji)).toBe(emoji);
  expect(visible("👩\u200d a\u200d👩")).toBe("👩\\u200d a\\u200d👩");
});

it("letters, marks, signs and the space stay as they are", () => {
  const text = "a é e\u0301 ß 日本 한글 عربي हिन्दी ⠁ 😀 – …";
  expect(visible(text)).toBe(text);
});
