import type { Item, RecordRef, Write } from "holdfast/internal";
import { CONDITION_CASES, CONDITIONS_ITEM } from "./condition-cases.js";
import { type EngineFinding, failed, passed } from "./finding.js";
import { holderIn, numberIn, type Probe } from "./probe.js";

const NO_CHANGE = Object.freeze({ set: {}, remove: [] });

/** Refuses an update, a put and a delete: each must change nothing, and show the item. */
export async function checkRefusals(probe: Probe): Promise<EngineFinding> {
  const ref = probe.record("refused");
  const item = await probe.claimed(ref);
  const silent: string[] = [];
  for (const [name, write] of refusedWrites(probe, ref)) {
    const answer = await probe.settle(write);
    if (answer.kind === "applied") {
      return failed("refusals", `A ${name} with a false condition was applied.`, UNSAFE);
    }
    if (holderIn(await probe.read(ref)) !== holderIn(item)) {
      return failed("refusals", `A refused ${name} changed the item.`, UNSAFE);
    }
    if (answer.item === undefined) silent.push(name);
    else if (holderIn(answer.item) !== holderIn(item)) {
      return failed("refusals", `A refused ${name} showed another item than the stored.`, UNSAFE);
    }
  }
  const absent = probe.record("refused-absent");
  const refused = await probe.settle(probe.takeOver(absent, probe.grant(), item));
  if (refused.kind === "applied" || (await probe.read(absent)) !== undefined) {
    return failed("refusals", "A takeover of an absent record was applied.", UNSAFE);
  }
  if (silent.length === 0) {
    return passed("refusals", "A refused write changes nothing, and shows the stored item.");
  }
  return failed(
    "refusals",
    `The engine does not show the item of a refused ${silent.join(", ")} (ReturnValuesOnConditionCheckFailure).`,
    "Refused here, with `misconfigured`: every contended lock. A client can neither see who holds it, nor recognise its " +
      "own write after a lost answer.",
  );
}

const UNSAFE = "A condition protects nothing here. Keep no locks on this engine.";

function refusedWrites(probe: Probe, ref: RecordRef): (readonly [string, Write])[] {
  const { condition, change, key } = probe.claim(ref, probe.grant());
  const holder = { S: probe.grant().holder };
  return [
    ["update", { key, condition, change }],
    ["put", { key, condition, change: { set: { holder }, remove: [] }, as: "put" }],
    ["delete", { key, condition, change: NO_CHANGE, as: "delete" }],
  ];
}

/** Evaluates each kind of condition that the protocol uses, on attributes that are present, absent and nested. */
export async function checkConditions(probe: Probe): Promise<EngineFinding> {
  const ref = probe.record("conditions");
  await probe.create(ref, CONDITIONS_ITEM);
  for (const { title, condition, isTrue } of CONDITION_CASES) {
    const change = { set: { checked: { S: title } }, remove: [] };
    const { kind } = await probe.settle({ key: ref.key, condition, change });
    if ((kind === "applied") !== isTrue) {
      const verdict = isTrue ? "false, but it is true" : "true, but it is false";
      const message = `The engine judged the condition "${title}" ${verdict}.`;
      return failed("conditions", message, UNSAFE);
    }
  }
  const count = CONDITION_CASES.length;
  return passed("conditions", `${count} conditions of each kind have the right result.`);
}

// Whole numbers of 16 to 38 digits. 9007199254740993 is the first that no double can hold.
const NUMBERS = [
  "9007199254740993",
  ...[18, 20, 28, 34, 37].map((digits) => "9".repeat(digits)),
  `1${"0".repeat(36)}1`,
];
// Fences and tickets begin at the time in milliseconds, of 13 digits, and grow by one.
const ENOUGH_DIGITS = 18;
const INEXACT = "Fences and tickets are not exact: two grants can have the same fence.";

/** Stores and increments whole numbers of up to 38 digits: fences, versions and tickets. */
export async function checkNumbers(probe: Probe): Promise<EngineFinding> {
  for (const digits of NUMBERS) {
    const found = await counted(probe, digits);
    const exact = [0n, 1n, 2n, 1n].map((more) => BigInt(digits) + more);
    if (found.every((number, index) => isExactly(number, exact[index]))) continue;
    const message = `The number ${digits} was stored and incremented as ${found.join(", ")}.`;
    if (digits.length <= ENOUGH_DIGITS) return failed("numbers", message, INEXACT);
    const consequence = `Never raise a fence to a number of ${digits.length} digits or more.`;
    return { check: "numbers", level: "warning", message, consequence };
  }
  return passed("numbers", "Whole numbers are exact up to 38 digits.");
}

/** Stores a number, and increments it in three ways. Returns the digits of all four. */
async function counted(probe: Probe, digits: string): Promise<string[]> {
  const ref = probe.record(`number-${digits}`);
  await probe.create(ref, { fence: { N: digits } });
  const stored = numberIn(await probe.read(ref), "fence");
  const set = {
    fence: { incrementFrom: "0" },
    tail: { incrementFrom: digits, by: 2 },
    served: { incrementFrom: "1", of: "fence" },
  };
  const condition = { kind: "equals", attribute: "fence", value: { N: digits } } as const;
  const answer = await probe.settle({ key: ref.key, condition, change: { set, remove: [] } });
  const item = answer.kind === "applied" ? answer.item : undefined;
  return [stored, ...["fence", "tail", "served"].map((name) => numberIn(item, name))];
}

function isExactly(found: string, exact: bigint | undefined): boolean {
  return /^\d+$/.test(found) && BigInt(found) === exact;
}

const WRITES = 24;
const READERS = 4;

/** Reads after each of many writes: a strongly consistent read must show the write. */
export async function checkReads(probe: Probe): Promise<EngineFinding> {
  const ref = probe.record("reads");
  let item = await probe.claimed(ref);
  for (let write = 0; write < WRITES; write += 1) {
    const answer = await probe.settle(probe.takeOver(ref, probe.grant(), item));
    if (answer.kind === "refused") {
      const message = "The engine refused a takeover of the version that it had just returned.";
      return failed("reads", message, STALE);
    }
    item = answer.item ?? {};
    const reads = Array.from({ length: READERS }, () => probe.read(ref));
    const found: (Item | undefined)[] = await Promise.all(reads);
    found.push(...((await probe.queried(ref)) ?? []));
    if (found.some((each) => holderIn(each) !== holderIn(item))) {
      const message = "A strongly consistent read did not show a write that was answered before.";
      return failed("reads", message, STALE);
    }
  }
  return passed("reads", `Strongly consistent reads and queries showed each of ${WRITES} writes.`);
}

const STALE =
  "A client that reads a record can conclude that the lock is free, or that its holder is dead.";

const ABANDONED = 8;
const LATE_MS = 1_000;
const TRIES = 10;

/**
 * Abandons writes after a few milliseconds, writes the same record again, and waits: no abandoned write may then appear,
 * because its condition has become false.
 */
export async function checkLateWrites(probe: Probe): Promise<EngineFinding> {
  const ref = probe.record("late");
  const item = await probe.claimed(ref);
  const abandoned = Array.from({ length: ABANDONED }, (_, at) =>
    probe.write(probe.takeOver(ref, probe.grant(), item), 1 + at),
  );
  const answers = await Promise.all(abandoned);
  const unanswered = answers.filter(({ kind }) => kind === "unknown").length;
  const last = await overtake(probe, ref);
  if (last === undefined) {
    return failed("late-writes", `A takeover was refused ${TRIES} times without a rival.`, STALE);
  }
  await probe.pause(LATE_MS);
  if (holderIn(await probe.read(ref)) === holderIn(last)) {
    return passed(
      "late-writes",
      `${unanswered} of ${ABANDONED} writes were abandoned; none was applied after a later write. ` +
        "Writes that the engine itself gives up cannot be provoked.",
    );
  }
  return failed(
    "late-writes",
    "A write that its client had abandoned replaced a later write, although its condition was false by then.",
    UNSAFE,
  );
}

/** Takes over a record for which writes may still arrive. Returns the new item, or undefined after too many refusals. */
async function overtake(probe: Probe, ref: RecordRef): Promise<Item | undefined> {
  for (let tries = 0; tries < TRIES; tries += 1) {
    const item = (await probe.read(ref)) ?? {};
    const answer = await probe.settle(probe.takeOver(ref, probe.grant(), item));
    if (answer.kind === "applied") return answer.item;
  }
  return undefined;
}
