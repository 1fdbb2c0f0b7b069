import { listLocks } from "../admin/admin.js";
import { type Holdfast, partsOf } from "../client.js";
import type { FormatTypes } from "../core/record/format-types.js";
import { refOf } from "../core/record/key.js";
import { HoldfastError } from "../errors.js";
import { serialisable } from "../internal/printed.js";
import type { Inspection } from "../locks/inspect.js";
import { Group } from "./group.js";
import { lockNameOf } from "./options.js";
import { sharingIn } from "./share.js";

/** A member of a group, as its row and its session show it. */
export interface AssignedMember {
  /** The member's session. */
  readonly id: string;
  readonly owner: string;
  readonly weight: number;
  /** How many names have their lock on the member's session. */
  readonly has: number;
  /** How many names the member should have; undefined if {@link AssignmentInspection.isSharingKnown} is false. */
  readonly shouldHave: number | undefined;
  /** Whether the member stops, and takes no further names. */
  readonly isLeaving: boolean;
  /** Whether the member's session is over: another member removes its row at its next look. */
  readonly isDead: boolean;
}

/** A name of a group. */
export interface AssignedName {
  readonly name: string;
  /** The member that has it; undefined if none has. */
  readonly member: string | undefined;
  /** The label of the member, or of somebody else, that has it; undefined if the lock is free. */
  readonly owner: string | undefined;
  /** The label of the member that should have it; undefined if {@link AssignmentInspection.isSharingKnown} is false. */
  readonly shouldBe: string | undefined;
}

/** A group and its names, each as read once. */
export interface AssignmentInspection {
  readonly group: string;
  readonly members: readonly AssignedMember[];
  /** The names whose lock was ever held, in their order; without those that the members do not know any more. */
  readonly names: readonly AssignedName[];
  /**
   * Whether the names are those that the members share: only then is it known who should have what. False while a name has
   * never run, or the members differ in their names.
   */
  readonly isSharingKnown: boolean;
}

/**
 * Shows the members of a group, its names, and who has them, for operators. Scans the whole table, queries the rows, and reads
 * each member's session, one unit each. Rejects with coded errors.
 */
export async function inspectAssignment(
  locks: Holdfast<FormatTypes>,
  group: string,
): Promise<AssignmentInspection> {
  const { context } = partsOf(locks, "inspectAssignment()");
  refOf(context.format, group);
  const members = new Group(context, group);
  if (!(await members.look(true))) throw notRead(group);
  const rows = [...members.rows.values()];
  const dead = new Set<string>();
  for (const row of rows) if (await members.isOver(row, true)) dead.add(row.session);
  const all = await namesIn(locks, group);
  const { known, shared } = sharingIn(
    rows.map((row) => ({ ...row, isDead: dead.has(row.session) })),
    all,
  );
  const owners = new Map(rows.map(({ session, owner }) => [session, owner]));
  const names = [...known].sort().map(([name, lock]): AssignedName => {
    const { session, owner, state } = lock;
    const target = shared?.get(name);
    return {
      name,
      member: session !== undefined && owners.has(session) ? session : undefined,
      owner: state === "held" ? owner : undefined,
      shouldBe: target === undefined ? undefined : owners.get(target),
    };
  });
  return serialisable({
    group,
    members: rows.map(({ session, owner, weight, isLeaving }): AssignedMember => {
      const has = names.filter(({ member }) => member === session).length;
      return {
        ...{ id: session, owner, weight, has, isLeaving },
        shouldHave: shared && [...shared.values()].filter((id) => id === session).length,
        isDead: dead.has(session),
      };
    }),
    names,
    isSharingKnown: shared !== undefined,
  });
}

type Found = Pick<Inspection, "session" | "owner" | "state">;

async function namesIn(locks: Holdfast<FormatTypes>, group: string): Promise<Map<string, Found>> {
  const prefix = lockNameOf(group, "");
  const found = new Map<string, Found>();
  for await (const page of listLocks(locks, { prefix, free: true })) {
    for (const lock of page.locks) found.set(String(lock.name).slice(prefix.length), lock);
  }
  return found;
}

function notRead(group: string): HoldfastError {
  return new HoldfastError(
    "unreachable",
    `The members of "${group}" were not read: DynamoDB did not answer. Try again.`,
  );
}
