import type { SessionRow } from "../view-types.js";
import { RecordLinks } from "./links.js";
import { Foreign, visible } from "./text.js";

const MOST_SESSIONS = 500;

/** The sessions, each with its records; the session of the query comes first, and open. */
export function Sessions(props: {
  readonly sessions: readonly SessionRow[];
  readonly chosen: string | null;
}) {
  const { sessions, chosen } = props;
  if (sessions.length === 0) return <p class="empty">No sessions.</p>;
  const first = sessions.filter(({ id }) => id === chosen);
  const others = sessions.filter(({ id }) => id !== chosen);
  return (
    <section aria-label="Sessions">
      {chosen !== null && first.length === 0 && (
        <p class="hint">The last reading did not show this session. It may have ended.</p>
      )}
      {[...first, ...others].slice(0, MOST_SESSIONS).map((session) => (
        <Session key={session.id} session={session} isOpen={session.id === chosen} />
      ))}
    </section>
  );
}

function Session({ session, isOpen }: { readonly session: SessionRow; readonly isOpen: boolean }) {
  const { id, state, owner, openedAt, appearsExpired, records, holds } = session;
  return (
    <details class="session" open={isOpen}>
      <summary>
        <b>
          <Foreign text={owner ?? id} />
        </b>{" "}
        <span class={appearsExpired ? "tag red" : "tag"}>
          {appearsExpired && state === "alive" ? "silent" : state}
        </span>{" "}
        holds {holds} <small>since {visible(openedAt ?? "–")}</small>
      </summary>
      <p>
        <code>{visible(id)}</code>
      </p>
      <RecordLinks records={records} />
    </details>
  );
}
