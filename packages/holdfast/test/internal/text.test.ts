import { describe, expect, it } from "vitest";
import { copyOfStart } from "../../src/internal/text.js";

describe("copyOfStart", () => {
  it("cuts between characters, and never in one", () => {
    expect(copyOfStart("ab\u{1F600}c", 2)).toBe("ab");
    expect(copyOfStart("ab\u{1F600}c", 3)).toBe("ab");
    expect(copyOfStart("ab\u{1F600}c", 4)).toBe("ab\u{1F600}");
    expect(copyOfStart("ab\u{1F600}c", 5)).toBe("ab\u{1F600}c");
  });
});
