import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { LinkedList } from "../../src/internal/linked-list.js";

type Step = "addFirst" | "addLast" | "shift" | { readonly delete: number };

const steps = fc.array(
  fc.oneof(
    fc.constantFrom<Step>("addFirst", "addLast", "shift"),
    fc.record({ delete: fc.nat(20) }),
  ),
);

describe("a linked list", () => {
  it("has the same values as an array after the same steps", () => {
    fc.assert(
      fc.property(steps, (all) => {
        const list = new LinkedList<number>();
        let array: number[] = [];
        for (const [value, step] of all.entries()) {
          if (step === "addFirst") {
            list.addFirst(value);
            array = [value, ...array];
          } else if (step === "addLast") {
            list.addLast(value);
            array = [...array, value];
          } else if (step === "shift") {
            expect(list.shift()).toBe(array[0]);
            array = array.slice(1);
          } else {
            expect(list.delete(step.delete)).toBe(array.includes(step.delete));
            array = array.filter((one) => one !== step.delete);
          }
          expect([...list]).toEqual(array);
          expect(list.size).toBe(array.length);
        }
      }),
    );
  });
});
