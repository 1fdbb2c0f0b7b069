import type { MemberRow, Named, Row } from "../view-types.js";
import { RecordLinks, SessionLink } from "./links.js";
import { Foreign } from "./text.js";

const MOST_GROUPS = 200;

/** The groups that share names: their members, who has what and who should, and the names that nobody has. */
export function Assignments(props: {
  readonly members: readonly MemberRow[];
  readonly rows: readonly Row[];
}) {
  const { members, rows } = props;
  const groups = [...new Set(members.map(({ group }) => group))].sort();
  if (groups.length === 0) return <p class="empty">The reading shows no assignment.</p>;
  return (
    <section aria-label="Assignments">
      {groups.slice(0, MOST_GROUPS).map((group) => (
        <Group
          key={group}
          group={group}
          members={members.filter((one) => one.group === group)}
          names={rows.filter(({ kind, name }) => kind === "lock" && name.startsWith(`${group}/`))}
        />
      ))}
      {groups.length > MOST_GROUPS && <p class="hint">And {groups.length - MOST_GROUPS} more.</p>}
    </section>
  );
}

function Group(props: {
  readonly group: string;
  readonly members: readonly MemberRow[];
  readonly names: readonly Row[];
}) {
  const { group, members, names } = props;
  const free = names.filter(({ state }) => state === "free");
  const isKnown = names.some(({ shouldBe }) => shouldBe !== undefined);
  return (
    <article class="part">
      <h3>
        <Foreign text={group} /> <small>{names.length - free.length} names held</small>
      </h3>
      {members.map((member) => (
        <Member
          key={member.session}
          member={member}
          has={names.filter(({ session }) => session === member.session)}
          should={isKnown && names.filter(({ shouldBe }) => shouldBe === member.session)}
        />
      ))}
      {!isKnown && <p class="hint">The reading does not tell who should have what.</p>}
      {free.length > 0 && <Names title={`${free.length} that nobody has`} names={free} />}
    </article>
  );
}

function Member(props: {
  readonly member: MemberRow;
  readonly has: readonly Row[];
  readonly should: readonly Row[] | false;
}) {
  const { member, has, should } = props;
  return (
    <>
      <p>
        <SessionLink id={member.session} text={member.owner} />{" "}
        {member.isDead && <span class="tag red">silent</span>}
        {member.isLeaving && <span class="tag">leaving</span>}
        {member.weight !== 1 && <small> weight {member.weight}</small>}
      </p>
      <Names title={`has ${has.length}`} names={has} />
      {should && <Names title={`should have ${should.length}`} names={should} />}
    </>
  );
}

function Names({ title, names }: { readonly title: string; readonly names: readonly Named[] }) {
  if (names.length === 0) return <p>{title}</p>;
  return (
    <details>
      <summary>{title}</summary>
      <RecordLinks records={names} />
    </details>
  );
}
