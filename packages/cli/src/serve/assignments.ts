import type { Inspection, Survey } from "holdfast/admin";
import { type Breaks, type SeenMember, sharingIn } from "holdfast/internal";
import type { MemberRow } from "./view-types.js";

/** Who shares names, and the session of the member that should have each lock, by the lock's name. */
export interface Assignments {
  readonly members: readonly MemberRow[];
  readonly shouldBe: ReadonlyMap<string, string>;
}

/** Computes the sharing of all groups in a survey. Takes breaks. */
export async function assignmentsIn(survey: Survey, breaks: Breaks): Promise<Assignments> {
  const alive = new Set(
    survey.sessions
      .filter(({ state, appearsExpired }) => state === "alive" && !appearsExpired)
      .map(({ id }) => id),
  );
  const members = survey.members.map((one) => ({ ...one, isDead: !alive.has(one.session) }));
  const groups = new Map<string, (MemberRow & SeenMember)[]>();
  for (const member of members) {
    const known = groups.get(member.group);
    if (known === undefined) groups.set(member.group, [member]);
    else known.push(member);
  }
  const locks = locksOf(groups, survey);
  const shouldBe = new Map<string, string>();
  for (const [group, ofGroup] of groups) {
    const { shared } = sharingIn(ofGroup, locks.get(group) ?? new Map());
    for (const [name, session] of shared ?? []) shouldBe.set(`${group}/${name}`, session);
    if (breaks.isDue) await breaks.take();
  }
  return { members, shouldBe };
}

/** The locks of each group, by the part of their names after the group's. */
function locksOf(groups: ReadonlyMap<string, unknown>, { locks }: Survey) {
  const found = new Map([...groups.keys()].map((group) => [group, new Map<string, Inspection>()]));
  if (found.size === 0) return found;
  for (const { kind, lock } of locks) {
    if (kind !== "lock" || lock.namespace !== undefined) continue;
    const { name } = lock;
    for (let at = name.indexOf("/"); at >= 0; at = name.indexOf("/", at + 1)) {
      found.get(name.slice(0, at))?.set(name.slice(at + 1), lock);
    }
  }
  return found;
}
