import { readFileSync } from "node:fs";
import { fileURLToPath } from "node:url";
import ts from "typescript";
import { describe, expect, it } from "vitest";
import { election } from "../../packages/holdfast/src/election/index.js";
import {
  type ErrorCode,
  Holdfast,
  type HoldfastError,
  mutex,
  semaphore,
} from "../../packages/holdfast/src/index.js";
import { answerOf } from "../../packages/holdfast/src/platform/dynamodb/errors.js";
import { interrupt } from "../../packages/holdfast/src/requests/index.js";
import { CommitWorld } from "../../packages/object-commit/test/world.js";
import { type Inhabitant, World } from "../support/world.js";

const read = (path: string): string =>
  readFileSync(fileURLToPath(new URL(`../../${path}`, import.meta.url)), "utf8");
const document = read("docs/errors.md");

/** The members of a union of string literals in packages/holdfast/src/errors.ts. */
function membersOf(type: string): string[] {
  const file = ts.createSourceFile(
    "errors.ts",
    read("packages/holdfast/src/errors.ts"),
    ts.ScriptTarget.ES2022,
  );
  const found = file.statements.find(
    (one): one is ts.TypeAliasDeclaration =>
      ts.isTypeAliasDeclaration(one) && one.name.text === type,
  );
  if (found === undefined || !ts.isUnionTypeNode(found.type)) throw new Error(`No union ${type}.`);
  return found.type.types
    .map((member) => (member as ts.LiteralTypeNode).literal as ts.StringLiteral)
    .map((literal) => literal.text);
}

const NAME = "report";
const KEY = { pk: { S: `lock#${NAME}` }, sk: { S: "lease" } };

interface Scene {
  readonly world: World;
  readonly mine: Inhabitant;
  readonly theirs: Inhabitant;
}

async function errorOf(promise: Promise<unknown>): Promise<HoldfastError> {
  return promise.then(
    () => {
      throw new Error("It did not fail.");
    },
    (error: HoldfastError) => error,
  );
}

/** The facts in a message: names in quotation marks, code, and numbers with their units. */
function factsOf(message: string): string[] {
  return [...new Set(message.match(/"[^"]*"|`[^`]*`|\b\w+\(\)|\b\d+(?: m?s)?\b/g) ?? [])].sort();
}

function sdkError(name: string, message: string): HoldfastError {
  const answer = answerOf(Object.assign(new Error(message), { name }), "locks", "UpdateItem");
  if (answer.kind !== "misconfigured") throw new Error(answer.kind);
  return answer.error;
}

/** Produces an error of each code. */
const PROVOKE: Readonly<Record<ErrorCode, (scene: Scene) => Promise<HoldfastError>>> = {
  "not-acquired": async ({ world, mine, theirs }) => {
    await world.until(mutex(theirs.locks, NAME).acquire({ owner: "worker-7" }));
    return world.until(errorOf(mutex(mine.locks, NAME).acquire({ wait: "5s" })));
  },
  lost: async ({ world, mine }) => {
    const lease = await world.until(mutex(mine.locks, NAME).acquire());
    mine.network.script(() => ({ fault: "request-lost" }));
    await world.time.advance(30_000);
    return lease.signal.reason as HoldfastError;
  },
  resigned: async ({ world, mine }) => {
    const term = await world.until(election(mine.locks, NAME).campaign());
    await world.until(term.release());
    return term.signal.reason as HoldfastError;
  },
  interrupted: async ({ world, mine, theirs }) => {
    const lease = await world.until(mutex(mine.locks, NAME).acquire());
    const asking = mutex(theirs.locks, NAME).acquire({ owner: "worker-7", ifHeld: interrupt });
    await world.time.advance(15_000);
    const { reason } = lease.signal;
    await world.until(lease.release());
    await world.until(asking);
    return reason as HoldfastError;
  },
  "limit-mismatch": async ({ world, mine, theirs }) => {
    await world.until(semaphore(theirs.locks, NAME, { permits: 20 }).acquire());
    return world.until(
      errorOf(semaphore(mine.locks, NAME, { permits: 25, onLimitMismatch: "refuse" }).acquire()),
    );
  },
  closed: async ({ world, mine }) => {
    await world.until(mine.locks.close());
    return world.until(errorOf(mutex(mine.locks, NAME).acquire()));
  },
  "foreign-record": async ({ world, mine }) => {
    world.table.putItem(KEY, { colour: { S: "red" } });
    return world.until(errorOf(mutex(mine.locks, NAME).acquire()));
  },
  "unsupported-layout": async ({ world, mine }) => {
    world.table.putItem(KEY, { v: { N: "2" }, fence: { N: "5" } });
    return world.until(errorOf(mutex(mine.locks, NAME).acquire()));
  },
  misconfigured: async () => sdkError("ResourceNotFoundException", "not found"),
  "access-denied": async () =>
    sdkError("AccessDeniedException", "not authorized to perform dynamodb:UpdateItem"),
  throttled: async ({ world, mine }) => {
    mine.network.script(() => ({ fault: "throttled" }));
    return world.until(errorOf(mutex(mine.locks, NAME).acquire({ wait: "5s" })));
  },
  unreachable: async ({ world, mine }) => {
    mine.network.script(() => ({ fault: "request-lost" }));
    return world.until(errorOf(mutex(mine.locks, NAME).acquire({ wait: "5s" })));
  },
  "invalid-argument": async ({ mine }) =>
    errorOf(mutex(mine.locks, NAME).acquire({ lease: "1s", renew: "800ms" })),
  "outcome-unknown": async ({ world, mine }) => {
    const lease = await world.until(mutex(mine.locks, NAME).acquire());
    mine.network.script(() => ({ fault: "request-lost" }));
    return world.until(errorOf(lease.release()));
  },
  "already-exists": async () => {
    const world = new CommitWorld();
    world.objects.putByHand("report.csv", "1");
    return world.error(world.writer().committer.putIfAbsent("report.csv", "2"));
  },
  "precondition-failed": async () => {
    const world = new CommitWorld();
    const stale = world.objects.putByHand("report.csv", "1").etag;
    world.objects.putByHand("report.csv", "2");
    return world.error(world.writer().committer.putIfMatch("report.csv", stale, "3"));
  },
  "not-found": async () => {
    const world = new CommitWorld();
    return world.error(world.writer().committer.copyIfAbsent("draft.csv", "report.csv"));
  },
};

describe("docs/errors.md", () => {
  it("has a section for each code, and no further sections", () => {
    const headings = [...document.matchAll(/^## (.+)$/gm)].map((match) => match[1] ?? "");
    expect(headings.filter((heading) => /^[a-z-]+$/.test(heading))).toEqual(membersOf("ErrorCode"));
  });

  it("has a line for each reason of a loss, and no further lines", () => {
    const [, table = ""] = document.split("## Why a lease is lost");
    const reasons = [...table.matchAll(/^\| `([^`]+)` +\|/gm)].map((match) => match[1]);
    expect(reasons).toEqual(membersOf("LossReason"));
  });

  it.each(membersOf("ErrorCode") as ErrorCode[])(
    "shows a message of %s with the facts of the real message",
    async (code) => {
      const world = new World();
      const scene = { world, mine: world.inhabitant(), theirs: world.inhabitant() };
      const error = await PROVOKE[code](scene);
      expect(error).toMatchObject({ code });
      const [, section = ""] = document.split(`\n## ${code}\n`);
      const shown = /^> (.+)$/m.exec(section)?.[1];
      expect(shown).toBeDefined();
      expect(factsOf(shown ?? "")).toEqual(factsOf(error.message));
    },
  );

  it("names the common class of all errors", () => {
    expect(() => new Holdfast({ client: {} as never, table: "locks" })).toThrow(
      expect.objectContaining({ name: "HoldfastError" }),
    );
  });
});
