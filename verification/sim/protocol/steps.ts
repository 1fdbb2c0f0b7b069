import { isDeepStrictEqual } from "node:util";
import type { Item, Write } from "../../../packages/holdfast/src/platform/table.js";
import { holds } from "../../../packages/testing/src/table/interpret.js";
import { mapIn, numberIn, textIn } from "../items.js";
import { recordIn } from "../witness.js";
import { namedIn } from "./items.js";

/** A rule in ARCHITECTURE.md. */
export type Rule = `R${number}`;

/** A write that the table applied. */
export interface Applied {
  readonly write: Write;
  readonly before: Item | undefined;
  readonly after: Item | undefined;
  readonly by: string;
  /** The process that first sent a write with this holder id. */
  readonly ownerOf: (holder: string | undefined) => string | undefined;
  /** What an operator or an importer may do to a record that another process holds. */
  readonly isAllowed: boolean;
  readonly trueWallMs: number;
}

/** A broken rule, and how. */
export type Wrong = readonly [Rule, string];

/** A step of the state machine of a record. */
interface Step {
  readonly name: string;
  readonly is: (applied: Applied) => boolean;
  /** The attributes that the step may set, change or remove; `permit#` stands for every name with this beginning. */
  readonly changes: readonly string[];
  /** The rule that a change of another attribute breaks. */
  readonly rule: Rule;
  readonly wrong?: (applied: Applied) => Wrong | undefined;
}

/** What a grant may leave to earlier grants and requests: `lastHolder`, `request`, `tail`, and attributes of others. */
const OF_GRANT = [
  ...["v", "holder", "version", "fence", "leaseMs", "owner", "acquiredAt", "mark"],
  ...["data", "dataSeq", "expiresAt", "leaseEnd", "session", "served", "asked", "asker", "ring"],
  ...["calls", "ran"],
];
const OF_KEEPING = [
  "version",
  "mark",
  "expiresAt",
  "leaseEnd",
  "data",
  "dataSeq",
  "leaseMs",
  "session",
];
const OF_FREEING = [
  "holder",
  "leaseEnd",
  "session",
  "data",
  "lastHolder",
  "expiresAt",
  "served",
  "request",
  "ring",
  "ran",
];
const OF_BIRTH = ["v", "version", "fence", "expiresAt", "tail", "owner"];
const OF_PERMITS = [
  ...["v", "version", "fence", "limit", "used", "served", "expiresAt", "limitChanges", "request"],
  ...["permit#", "fence#", "request#", "withdrawn#"],
];

const holderOf = (item: Item | undefined): string | undefined => textIn(item, "holder");
const isOneGrant = ({ before, after }: Applied): boolean =>
  holderOf(after) !== undefined &&
  holderOf(after) === holderOf(before) &&
  numberIn(after, "fence") === numberIn(before, "fence");
const isRaised = ({ before, after }: Applied, attribute: string, by = 1n): boolean =>
  numberIn(after, attribute) === (numberIn(before, attribute) ?? 0n) + by;
const changedIn = ({ before, after }: Applied): string[] =>
  [...new Set([...Object.keys(before ?? {}), ...Object.keys(after ?? {})])].filter(
    (name) => !["pk", "sk"].includes(name) && !isDeepStrictEqual(before?.[name], after?.[name]),
  );
const isOnly = (applied: Applied, ...names: readonly string[]): boolean =>
  changedIn(applied).every((one) => names.some((name) => matches(one, name)));
const matches = (attribute: string, name: string): boolean =>
  name.endsWith("#") ? attribute.startsWith(name) : attribute === name;

/** The state machine of a record with one holder: of a lock, a leadership, an occurrence, a session or a queue entry. */
const OF_ONE_HOLDER: readonly Step[] = [
  {
    name: "a deletion",
    is: ({ after }) => after === undefined,
    changes: [],
    rule: "R9",
    wrong: ({ write, before, by, ownerOf }) => {
      if (recordIn(write.key).kind !== "place") return ["R9", "deleted a record"];
      const isOwn = ownerOf(holderOf(before)) === by;
      return isOwn || namesVersion(write, before)
        ? undefined
        : ["R4", "deleted an entry that it did not name"];
    },
  },
  {
    name: "a grant",
    is: (applied) => holderOf(applied.after) !== undefined && !isOneGrant(applied),
    changes: OF_GRANT,
    rule: "R7",
    wrong: wrongGrant,
  },
  {
    name: "the end of a grant",
    is: ({ before, after }) => holderOf(before) !== undefined && holderOf(after) === undefined,
    changes: OF_FREEING,
    rule: "R7",
    wrong: wrongFreeing,
  },
  {
    name: "a renewal",
    is: (applied) =>
      isOneGrant(applied) &&
      numberIn(applied.before, "version") !== numberIn(applied.after, "version"),
    changes: OF_KEEPING,
    rule: "R7",
    wrong: wrongKeeping,
  },
  {
    name: "a write of data",
    is: (applied) => isOneGrant(applied) && changedIn(applied).includes("dataSeq"),
    changes: ["data", "dataSeq"],
    rule: "R7",
    wrong: (applied) => {
      const { write, after, by, ownerOf } = applied;
      if (ownerOf(holderOf(after)) !== by) return ["R7", "wrote the data of another's lease"];
      if (holds(write.condition, after)) return ["R5", "sent data that could be written twice"];
      return notOfOtherGrant(applied);
    },
  },
  {
    name: "a notification",
    is: (applied) => isOnly(applied, "request#") && holderOf(applied.after) !== undefined,
    changes: ["request#"],
    rule: "R7",
  },
  {
    name: "a request",
    is: (applied) =>
      isOnly(applied, "request", "asked", "asker") && holderOf(applied.after) !== undefined,
    changes: ["request", "asked", "asker"],
    rule: "R7",
    wrong: ({ before, after }) =>
      (numberIn(after, "asked") ?? 0n) < (numberIn(before, "asked") ?? 0n)
        ? ["R9", "lowered the number of those that interrupt"]
        : undefined,
  },
  {
    name: "a call for a run",
    is: (applied) => isOnly(applied, "calls", "expiresAt") && changedIn(applied).includes("calls"),
    changes: ["calls", "expiresAt"],
    rule: "R9",
    wrong: (applied) =>
      isRaised(applied, "calls") || numberIn(applied.before, "calls") === undefined
        ? undefined
        : ["R9", "noted a call without the next number"],
  },
  {
    name: "a later TTL",
    is: (applied) => isOnly(applied, "expiresAt"),
    changes: ["expiresAt"],
    rule: "R10",
  },
  {
    name: "a ticket, or a record without a holder",
    is: ({ before, after }) => before === undefined || numberIn(after, "tail") !== undefined,
    changes: OF_BIRTH,
    rule: "R1",
    wrong: wrongTicket,
  },
  {
    name: "a release again",
    is: ({ after }) => holderOf(after) === undefined,
    changes: OF_FREEING,
    rule: "R9",
  },
];

/** The state machine of a record with permits. */
const OF_MANY_HOLDERS: readonly Step[] = [
  {
    name: "a deletion",
    is: ({ after }) => after === undefined,
    changes: [],
    rule: "R9",
    wrong: () => ["R9", "deleted a record"],
  },
  {
    name: "a grant of a permit",
    is: (applied) =>
      permitsIn(applied.after).some((one) => !permitsIn(applied.before).includes(one)),
    changes: OF_PERMITS,
    rule: "R7",
    wrong: (applied) => {
      const { write, before, after } = applied;
      if (before !== undefined && !isRaised(applied, "fence"))
        return ["R9", "granted without a higher fence"];
      if (holds(write.condition, after)) return ["R5", "sent a grant that could be applied twice"];
      const marked = { ...before, ...marksOfNew(applied) };
      if (before !== undefined && holds(write.condition, marked))
        return ["R14", "sent a grant that its own mark would not stop"];
      return wrongOnUnknown(applied);
    },
  },
  {
    name: "another step of permits",
    is: ({ after }) => after !== undefined,
    changes: [...OF_PERMITS, "tail"],
    rule: "R7",
    wrong: ({ before, after }) =>
      before !== undefined && numberIn(before, "fence") !== numberIn(after, "fence")
        ? ["R9", "changed the fence without a grant"]
        : undefined,
  },
];

function permitsIn(item: Item | undefined): string[] {
  return Object.keys(item ?? {}).filter((name) => name.startsWith("permit#"));
}

/** The marks by which the new permits of a record would have been withdrawn. */
function marksOfNew({ before, after }: Applied): Item {
  const known = permitsIn(before);
  const isNew = (one: string): boolean => !known.includes(one);
  return Object.fromEntries(
    permitsIn(after)
      .filter(isNew)
      .map((one) => [one.replace("permit#", "withdrawn#"), { N: "0" }]),
  );
}

/** Returns the rule that an applied write breaks, by the table of its record's steps; undefined if it is none. */
export function wrongStep(applied: Applied): Wrong | undefined {
  const { write, before, after } = applied;
  if (isDeepStrictEqual(before, after) || textIn(write.key, "sk")?.startsWith("history/"))
    return undefined;
  const steps = recordIn(write.key).kind === "permits" ? OF_MANY_HOLDERS : OF_ONE_HOLDER;
  const step = steps.find(({ is }) => is(applied));
  if (step === undefined)
    return ["R1", `changed ${changedIn(applied).join(", ")}, which is no step`];
  const wrong = step.wrong?.(applied);
  if (wrong !== undefined || after === undefined) return wrong;
  const more = changedIn(applied).filter((one) => !step.changes.some((name) => matches(one, name)));
  return more.length === 0 ? undefined : [step.rule, `changed ${more.join(", ")} by ${step.name}`];
}

function wrongGrant(applied: Applied): Wrong | undefined {
  const { write, before, after, by, ownerOf, isAllowed } = applied;
  const { kind } = recordIn(write.key);
  const another = { ...after, holder: { S: "another" } };
  if (holds(write.condition, another)) return ["R1", "sent a grant that could replace any holder"];
  if (holds(write.condition, after)) return ["R5", "sent a grant that could be applied twice"];
  if (numberIn(before, "fence") !== undefined && !isRaised(applied, "fence", blockIn(write)))
    return ["R9", "granted without a higher fence"];
  if (!isRaised(applied, "version")) return ["R4", "granted without a higher version"];
  if (kind === "session" && before !== undefined) return ["R1", "granted a session again"];
  const former = holderOf(before);
  const isOther = former !== undefined && ownerOf(former) !== by;
  if (isOther && !isAllowed && !namesVersion(write, before))
    return ["R4", "took a version that it did not name"];
  if (textIn(after, "session") !== undefined)
    return ["R14", "granted a record that names a session"];
  return (
    wrongCount(applied) ??
    endsLate(applied) ??
    (former === undefined ? wrongOnUnknown(applied) : undefined)
  );
}

/** The fences that a grant reserves. */
function blockIn({ change }: Write): bigint {
  const fence = change.set["fence"];
  return fence !== undefined && "incrementFrom" in fence ? BigInt(fence.by ?? 1) : 1n;
}

// A number that falls hides a call without a run; so does a run that counts for a call after it.
function wrongCount({ before, after }: Applied): Wrong | undefined {
  for (const name of ["calls", "ran"])
    if ((numberIn(after, name) ?? 0n) < (numberIn(before, name) ?? 0n))
      return ["R9", `lowered \`${name}\``];
  return (numberIn(after, "ran") ?? 0n) > (numberIn(after, "calls") ?? 0n)
    ? ["R9", "counted a run of a call that nobody has made"]
    : undefined;
}

function wrongFreeing(applied: Applied): Wrong | undefined {
  const { write, before, after, by, ownerOf, isAllowed } = applied;
  const left = ["session", "leaseEnd"].filter((name) => after?.[name] !== undefined);
  if (left.length > 0) return ["R14", `freed a record and left ${left.join(" and ")}`];
  if (numberIn(before, "fence") !== numberIn(after, "fence"))
    return ["R9", "freed a record with another fence"];
  if (numberIn(before, "version") !== numberIn(after, "version"))
    return ["R9", "freed a record with another version"];
  const isOther = ownerOf(holderOf(before)) !== by;
  if (isOther && !isAllowed && !namesVersion(write, before))
    return ["R4", "freed a version that it did not name"];
  return wrongCount(applied);
}

function wrongKeeping(applied: Applied): Wrong | undefined {
  const { write, before, after, by, ownerOf } = applied;
  if (ownerOf(holderOf(after)) !== by) return ["R7", "renewed another's lease"];
  if (!isRaised(applied, "version")) return ["R3", "renewed without the next version"];
  if (write.change.set["mark"] === undefined) return ["R5", "renewed without a mark"];
  if (textIn(before, "session") !== undefined) return ["R3", "renewed a record on a session"];
  const isChange = ["leaseMs", "session"].some(
    (one) => !isDeepStrictEqual(before?.[one], after?.[one]),
  );
  if (isChange && holds(write.condition, after))
    return ["R5", "sent a change that could be applied twice"];
  const [was, is] = [before, after].map((item) => numberIn(mapIn(item, "leaseEnd"), "at"));
  if (!isChange && was !== undefined && is !== undefined && is < was && !isExact(write, before))
    return ["R5", "set an earlier end of its lease"];
  return notOfOtherGrant(applied) ?? endsLate(applied);
}

function wrongTicket(applied: Applied): Wrong | undefined {
  const { before, after } = applied;
  if (before !== undefined && (numberIn(after, "tail") ?? 0n) < (numberIn(before, "tail") ?? 0n))
    return ["R1", "lowered the tickets of a queue"];
  if (before !== undefined && numberIn(before, "fence") !== numberIn(after, "fence"))
    return ["R9", "changed the fence without a grant"];
  return wrongOnUnknown(applied);
}

// A write that names neither the holder nor the version must not be applied to a record of another layout.
function wrongOnUnknown({ write, before }: Applied): Wrong | undefined {
  if (before === undefined) return undefined;
  const { v: _, ...without } = before;
  const isBlind = [{ ...before, v: { N: "2" } }, without].some((item) =>
    holds(write.condition, item),
  );
  return isBlind
    ? ["R12", "sent a write that could change a record of an unknown layout"]
    : undefined;
}

function notOfOtherGrant({ write, before }: Applied): Wrong | undefined {
  const later = { ...before, fence: { N: String((numberIn(before, "fence") ?? 0n) + 1n) } };
  return holds(write.condition, later)
    ? ["R7", "sent a write that could change a later lease"]
    : undefined;
}

const DAY_MS = 24 * 3_600_000;
// Seven days, less the two by which a clock may be wrong, and one for drift: see RETENTION_MS.
const LEAST_RETENTION_MS = 4 * DAY_MS;

function endsLate({ write, after, trueWallMs }: Applied): Wrong | undefined {
  const expiresAt = numberIn(after, "expiresAt");
  if (textIn(write.key, "pk")?.startsWith("once#"))
    return expiresAt === undefined ? undefined : ["R10", "gave a task's record a TTL"];
  const leastMs = trueWallMs + Number(numberIn(after, "leaseMs") ?? 0n) + LEAST_RETENTION_MS;
  const isLate = expiresAt !== undefined && Number(expiresAt) * 1_000 >= leastMs;
  return isLate ? undefined : ["R10", "set a TTL that a live record could reach"];
}

function namesVersion({ condition }: Write, before: Item | undefined): boolean {
  const next = { ...before, version: { N: String((numberIn(before, "version") ?? 0n) + 1n) } };
  return !holds(condition, next);
}

function isExact({ condition }: Write, before: Item | undefined): boolean {
  const version = numberIn(before, "version");
  return namedIn(condition).some(
    (named) => named.version !== undefined && named.version === version,
  );
}
