import type { Detail, Event, Waiter } from "../view-types.js";
import { useDetail } from "./api.js";
import { Commands } from "./commands.js";
import { Age } from "./frame.js";
import { Life } from "./life.js";
import { RecordLinks, SessionLink } from "./links.js";
import { Permits } from "./permits.js";
import { Release } from "./release.js";
import { Foreign, visible } from "./text.js";

/** One record: state, queue, history, data and what can be done. */
export function RecordView({ query }: { readonly query: string }) {
  const { answer, atMs, lost } = useDetail(query);
  const detail = answer?.detail;
  return (
    <section aria-label="One record" class="record">
      <p>
        <a href="#/">← All locks</a>
      </p>
      {(lost ?? answer?.error) !== undefined && (
        <p class="problem" role="alert">
          {visible(lost ?? answer?.error ?? "")}
        </p>
      )}
      {detail === undefined ? (
        <p>Reading …</p>
      ) : (
        <>
          <h2>
            <Foreign text={detail.row.name} /> <span class="tag">{detail.row.kind}</span>
            {detail.row.namespace !== undefined && (
              <span class="tag">
                <Foreign text={detail.row.namespace} />
              </span>
            )}
          </h2>
          <p class={`words ${detail.row.state}`}>
            <Foreign text={detail.words} />
          </p>
          <Life row={detail.row} />
          <p class="facts">
            Fence {detail.row.fence ?? "–"}.{" "}
            <Age status={answer} atMs={atMs} lost={lost !== undefined} />
          </p>
          <Parts detail={detail} allowRelease={answer?.allowRelease === true} />
        </>
      )}
    </section>
  );
}

function Parts({
  detail,
  allowRelease,
}: {
  readonly detail: Detail;
  readonly allowRelease: boolean;
}) {
  const { row } = detail;
  return (
    <>
      {row.permits !== undefined && <Permits row={row} permits={detail.permits} />}
      {row.kind === "lock" && (
        <Queue
          waiters={detail.waiters}
          none="No waiters. Waiters of a mutex have no place until a fair lock of the name is used."
        />
      )}
      {row.permits !== undefined && <Queue waiters={detail.waiters} none="No waiters." />}
      {row.kind !== "once" && <Timeline events={detail.events} />}
      {detail.data !== undefined && (
        <div class="part">
          <h3>Data</h3>
          <pre>{visibleLines(detail.data)}</pre>
        </div>
      )}
      {row.session !== undefined && <Besides id={row.session} detail={detail} />}
      <div class="part">
        <h3>Commands</h3>
        <Commands actions={detail.actions} />
      </div>
      {allowRelease && row.state !== "free" && row.kind !== "once" && (
        <Release row={row} permits={detail.permits} />
      )}
    </>
  );
}

const visibleLines = (text: string): string => text.split("\n").map(visible).join("\n");

function Queue({ waiters, none }: { readonly waiters: readonly Waiter[]; readonly none: string }) {
  return (
    <div class="part queue">
      <h3>Queue</h3>
      {waiters.length === 0 ? (
        <p>{none}</p>
      ) : (
        <ol>
          {waiters.map(({ position, ticket, owner, since, calls, appearsExpired }) => (
            <li key={ticket} value={position + 1}>
              <Foreign text={owner} />
              {calls > 1 ? ` (${calls} calls)` : ""}{" "}
              <small>
                ticket {ticket}
                {since === undefined ? "" : `, since ${visible(since)}`}
                {appearsExpired ? ", silent" : ""}
              </small>
            </li>
          ))}
        </ol>
      )}
    </div>
  );
}

function Timeline({ events }: { readonly events: readonly Event[] }) {
  return (
    <div class="part">
      <h3>Grants</h3>
      {events.length === 0 ? (
        <p>No grants are noted. Clients note grants with the option `history`.</p>
      ) : (
        <ol class="timeline">
          {events.map((event, index) => (
            <li key={index} class={event.what}>
              <EventText event={event} />
            </li>
          ))}
        </ol>
      )}
    </div>
  );
}

function EventText({ event }: { readonly event: Event }) {
  if (event.what === "gap") return <>{event.missing} not noted</>;
  if (event.what === "forced") {
    return (
      <>
        Forced release by <Foreign text={event.by} />: <Foreign text={event.reason} />{" "}
        <small>{visible(event.at)}</small>
      </>
    );
  }
  return (
    <>
      <b>{event.fence}</b> <Foreign text={event.owner} />{" "}
      <small>
        {visible(event.how)}, {visible(event.at)}
      </small>
    </>
  );
}

function Besides({ id, detail }: { readonly id: string; readonly detail: Detail }) {
  const { besides, besidesCount } = detail;
  return (
    <div class="part besides">
      <h3>Session</h3>
      <p>
        <code>
          <SessionLink id={id} text={id} />
        </code>{" "}
        keeps this lock alive
        {besidesCount === 0 ? "." : `, and ${besidesCount} more:`}
      </p>
      <RecordLinks records={besides} />
    </div>
  );
}
