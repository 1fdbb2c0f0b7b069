import {
  type ForceReleasePermitOptions,
  forceRelease,
} from "../../packages/holdfast/src/admin/index.js";
import type { FormatTypes } from "../../packages/holdfast/src/core/record/format-types.js";
import { election } from "../../packages/holdfast/src/election/index.js";
import {
  type AcquireOptions,
  all,
  fairLock,
  type Holdfast,
  inspect,
  type Lease,
  type Lock,
  mutex,
  readLock,
  semaphore,
  writeLock,
} from "../../packages/holdfast/src/index.js";
import type { Item } from "../../packages/holdfast/src/platform/table.js";
import type { World } from "./world.js";

export const LEASE_MS = 30_000;

/** The options that each kind takes, but for the wait, which a campaign does not have. */
interface AnyOptions {
  readonly wait?: number | string | { readonly beyondLease: string };
  readonly signal?: AbortSignal;
  readonly onWait?: AcquireOptions["onWait"];
}

/** A lock of any kind, or a candidate, as the suite uses it. */
type AnyLock = Pick<Lock<FormatTypes, AnyOptions>, "name" | "acquire" | "inspect">;
export type AnyLease = Lease<FormatTypes>;

/** A kind of lock, and what sets it apart from the other kinds. */
export interface Kind {
  readonly kind: string;
  make(locks: Holdfast, options?: object): AnyLock;
  /** What keeps others out: the kind itself, or for a reader a writer. */
  blocker(locks: Holdfast): AnyLock;
  /** Frees the lock although it is held, as an operator does who does not wait. */
  force(operator: Holdfast, lease: AnyLease): Promise<unknown>;
  /** The records of its names. */
  readonly keys: readonly Item[];
  /** The reason of a loss that the clocks show. */
  readonly lateReason: "expired" | "session-ended";
  /** The error code with which the signal aborts at the release, which then waits for the body. */
  readonly releaseReason: string | undefined;
  /** Whether `not-acquired` names the owner of the holder; a semaphore counts its permits instead. */
  readonly namesOwner: boolean;
  /** The requests of an acquisition of a lock that the client knows, of a release, and of a try on a held lock. */
  readonly costs: {
    readonly acquire: Costs;
    readonly release: Costs;
    readonly tryHeld?: Costs;
  };
  /** Whether another session opens for the first acquisition. */
  readonly isPermit: boolean;
}

interface Costs {
  readonly writes: number;
  readonly reads: number;
}

/** A kind with the whole interface: all but a candidate. */
export interface LockKind extends Kind {
  make(locks: Holdfast, options?: object): Lock<FormatTypes, AnyOptions>;
}

const NAME = "a";
const WHY = { reason: "a test", by: "an operator", now: true } as const;
const ONE_WRITE: Costs = { writes: 1, reads: 0 };

const keyOf = (first: string): Item => ({ pk: { S: first }, sk: { S: "lease" } });
const anyLock = (lock: unknown) => lock as Lock<FormatTypes, AnyOptions>;

const LOCK = {
  keys: [keyOf(`lock#${NAME}`)],
  lateReason: "expired",
  releaseReason: undefined,
  namesOwner: true,
  costs: { acquire: ONE_WRITE, release: ONE_WRITE, tryHeld: ONE_WRITE },
  isPermit: false,
  force: (operator: Holdfast) => forceRelease(operator, NAME, WHY),
} as const;

function permitOf(kind: ForceReleasePermitOptions["kind"]) {
  return {
    ...LOCK,
    keys: [keyOf(`${kind}#${NAME}`)],
    lateReason: "session-ended",
    isPermit: true,
    force: (operator: Holdfast, { holder }: AnyLease) =>
      forceRelease(operator, NAME, { ...WHY, kind, holder }),
  } as const;
}

/** Makes a kind that excludes itself. */
function alone(
  kind: string,
  make: LockKind["make"],
  facts: Omit<LockKind, "kind" | "make" | "blocker">,
): LockKind {
  return { ...facts, kind, make, blocker: (locks) => make(locks) };
}

const writer = (locks: Holdfast, options?: object) => anyLock(writeLock(locks, NAME, options));

export const LOCK_KINDS: readonly LockKind[] = [
  alone("mutex", (locks, options) => anyLock(mutex(locks, NAME, options)), LOCK),
  alone("fair lock", (locks, options) => anyLock(fairLock(locks, NAME, options)), LOCK),
  alone("pair of locks", (locks, options) => anyLock(all(locks, [NAME, "b"], options)), {
    ...LOCK,
    keys: [keyOf(`lock#${NAME}`), keyOf("lock#b")],
    costs: {
      acquire: { writes: 0, reads: 0 },
      release: { writes: 2, reads: 0 },
      tryHeld: { writes: 0, reads: 2 },
    },
  }),
  alone(
    "semaphore",
    (locks, options) => anyLock(semaphore(locks, NAME, { permits: 1, ...options })),
    { ...permitOf("semaphore"), namesOwner: false },
  ),
  {
    ...permitOf("read-write"),
    kind: "reader",
    make: (locks, options) => anyLock(readLock(locks, NAME, options)),
    blocker: writer,
  },
  alone("writer", writer, permitOf("read-write")),
];

/** A candidate as a lock: a campaign has no wait, so it has no try, and `lead` is tested with elections. */
function candidate(locks: Holdfast, options: object = {}): AnyLock {
  // A new candidate each time: one that has resigned waits two polls.
  const stand = () => election(locks, NAME, { lease: LEASE_MS, poll: "1s", ...options });
  stand();
  return {
    name: NAME,
    acquire: (options) => {
      if (options?.wait === undefined) return stand().campaign(options);
      const { wait: _, onWait: __, ...rest } = options;
      return stand().campaign(rest);
    },
    inspect: () => inspect(locks, NAME, { kind: "leader" }),
  };
}

const TERM: Kind = {
  ...LOCK,
  kind: "term",
  make: candidate,
  blocker: candidate,
  keys: [keyOf(`leader#${NAME}`)],
  releaseReason: "resigned",
  costs: { acquire: { writes: 1, reads: 1 }, release: ONE_WRITE },
  force: (operator) => forceRelease(operator, NAME, { ...WHY, kind: "leader" }),
};

/** Everything that can be acquired. */
export const KINDS: readonly Kind[] = [...LOCK_KINDS, TERM];

/** Who holds the lock or waits for it, by the table: holders, permits, and places in the queue. */
export function presentIn(world: World, { keys }: Kind): string[] {
  const records = keys.flatMap((key) => Object.entries(world.table.item(key) ?? {}));
  const holders = records
    .filter(([name]) => name === "holder" || name.startsWith("permit#"))
    .map(([name, value]) => `${name} ${JSON.stringify(value)}`);
  const places = world.table
    .items()
    .map((item) => JSON.stringify(item["sk"]))
    .filter((sk) => sk.includes("ticket/"));
  return [...holders, ...places];
}
