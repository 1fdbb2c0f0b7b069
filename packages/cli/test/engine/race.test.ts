import { describe, expect, it } from "vitest";
import { type Contender, judgeRace } from "../../src/engine/race.js";

const of = (leaves: string | undefined, kind: string, holder?: string): Contender => ({
  leaves,
  answer: {
    kind,
    ...(kind === "refused"
      ? { item: holder === undefined ? undefined : { holder: { S: holder } } }
      : {}),
  } as never,
});
const won = of("a", "applied");
const lost = of("b", "refused", "a");
const open = of("c", "unknown");

describe("the judgement of a race", () => {
  it.each<[string, Contender[], before: string | undefined, stored: string | undefined]>([
    ["one write was applied", [won, lost], undefined, "a"],
    ["another write was not answered", [won, open], undefined, "a"],
    ["a delete was applied", [of(undefined, "applied"), of("b", "refused")], "z", undefined],
  ])("is won when %s", (_, contenders, before, stored) => {
    expect(judgeRace(contenders, before, stored)).toBe("won");
  });

  it.each<[string, Contender[], before: string | undefined, stored: string | undefined]>([
    ["no write was answered, and none applied", [open], undefined, undefined],
    ["an unanswered write was applied", [open, of("b", "refused", "c")], undefined, "c"],
    ["every write met a conflict", [of("a", "conflict"), of("b", "conflict")], "z", "z"],
  ])("is undecided when %s", (_, contenders, before, stored) => {
    expect(judgeRace(contenders, before, stored)).toBe("undecided");
  });

  it.each<[string, Contender[], before: string | undefined, stored: string | undefined]>([
    ["two writes were applied", [won, of("b", "applied")], undefined, "a"],
    ["the item is not the winner's", [won, lost], undefined, "b"],
    ["the item of a winner is missing", [won], undefined, undefined],
    ["a refusal showed another item", [won, of("b", "refused", "z")], "z", "a"],
    ["every write was refused without a reason", [of("a", "refused", "z")], "z", "z"],
    ["every write was refused, and the item changed", [of("a", "refused", "b")], "z", "b"],
    ["the item changed, and the unanswered write does not explain it", [open], "z", "b"],
  ])("is an error of the engine when %s", (_, contenders, before, stored) => {
    expect(judgeRace(contenders, before, stored)).toHaveProperty("fault");
  });
});
