import { useEffect, useState } from "preact/hooks";
import type { Status } from "../view-types.js";
import { length, readUnits } from "./text.js";

/** The age of a reading, by the page's clock since the answer. */
export function Age(props: {
  readonly status: Status | undefined;
  readonly atMs: number;
  readonly lost: boolean;
}) {
  const [nowMs, setNowMs] = useState(performance.now());
  useEffect(() => {
    const timer = setInterval(() => setNowMs(performance.now()), 1_000);
    return () => clearInterval(timer);
  }, []);
  const { status, atMs, lost } = props;
  if (status?.ageMs === undefined) return <span class="age">No reading yet.</span>;
  const ageMs = status.ageMs + Math.max(0, nowMs - atMs);
  const isOld = lost || status.error !== undefined || ageMs > 4 * status.refreshMs;
  return (
    <span class={isOld ? "age old" : "age"}>
      Read {length(ageMs)} ago; {readUnits(status.units)}.
    </span>
  );
}

/** The top of every view: table, views, the reading and its cost, and what is wrong. */
export function Header(props: {
  readonly status: Status | undefined;
  readonly atMs: number;
  readonly lost: string | undefined;
  readonly page: string;
}) {
  const { status, atMs, lost, page } = props;
  return (
    <header>
      <h1>
        Holdfast <span class="of">{status?.table}</span>
        {status !== undefined && status.prefix !== "" && <span class="tag">{status.prefix}…</span>}
      </h1>
      <nav aria-label="Views">
        {[
          ["", "Locks"],
          ["leaders", "Leaders"],
          ["schedules", "Schedules"],
          ["assignments", "Assignments"],
          ["sessions", "Sessions"],
        ].map(([key, title]) => (
          <a key={key} href={`#/${key}`} aria-current={page === key ? "page" : undefined}>
            {title}
          </a>
        ))}
      </nav>
      <p class="reading">
        <Age status={status} atMs={atMs} lost={lost !== undefined} />{" "}
        <span class="cost">
          {readUnits(status?.totalUnits)} in all. A reading is a look back, not this instant.
        </span>
      </p>
      {status?.isWhole === false && (
        <p class="problem" role="alert">
          The table has more records than a reading can hold: this is a part of it. Start the server
          with a --prefix.
        </p>
      )}
      {(lost ?? status?.error) !== undefined && (
        <p class="problem" role="alert">
          {lost === undefined ? status?.error : `The server does not answer: ${lost}`}
          {status?.ageMs === undefined ? "" : " Below is the last reading."}
        </p>
      )}
    </header>
  );
}
