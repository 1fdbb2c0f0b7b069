import type { Row, Schedule } from "../view-types.js";
import { RecordLink } from "./links.js";
import { Foreign, length } from "./text.js";

const MOST_SCHEDULES = 500;

interface Scheduled {
  readonly row: Row;
  readonly schedule: Schedule;
}

/** What the tasks of a fleet did last and do next: those that are late or have failed come first. */
export function Schedules({ rows }: { readonly rows: readonly Row[] }) {
  const all = rows
    .flatMap((row): Scheduled[] =>
      row.schedule === undefined ? [] : [{ row, schedule: row.schedule }],
    )
    .sort((a, b) => urgency(b) - urgency(a) || (a.row.name < b.row.name ? -1 : 1));
  if (all.length === 0) return <p class="empty">The reading shows no schedule.</p>;
  return (
    <section aria-label="Schedules" class="schedules">
      <table aria-label="Schedules">
        <thead>
          <tr>
            {["Name", "Due", "Last run", "Next", "Last failure"].map((title) => (
              <th key={title} scope="col">
                {title}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {all.slice(0, MOST_SCHEDULES).map((one) => (
            <ScheduleRow key={`${one.row.namespace} ${one.row.name}`} {...one} />
          ))}
        </tbody>
      </table>
      {all.length > MOST_SCHEDULES && <p class="hint">And {all.length - MOST_SCHEDULES} more.</p>}
    </section>
  );
}

function urgency({ schedule }: Scheduled): number {
  return schedule.lateMs > 0 ? 2 : schedule.outcome === "failed" ? 1 : 0;
}

function ScheduleRow({ row, schedule }: Scheduled) {
  const { rule, due, outcome, attempt, next, retryAt, lateMs, lastFailure } = schedule;
  const isFree = row.state === "free";
  const ended =
    outcome === "open" ? (isFree || row.state === "silent" ? "cut off" : "runs") : outcome;
  return (
    <tr>
      <td>
        <RecordLink record={row} />
      </td>
      <td>
        <Foreign text={rule} />
      </td>
      <td>
        <span class={ended === "failed" || ended === "cut off" ? "tag red" : "tag"}>
          {attempt === 0 ? "none yet" : (ended ?? "ended")}
        </span>{" "}
        {attempt > 0 && due}
        {attempt > 1 && <small> attempt {attempt}</small>}
      </td>
      <td>
        {retryAt ?? next ?? "–"}{" "}
        {lateMs > 0 && <span class="tag red">late by {length(lateMs)}</span>}
      </td>
      <td>
        {lastFailure !== undefined && (
          <>
            {lastFailure.due} <Foreign text={lastFailure.error} />
          </>
        )}
      </td>
    </tr>
  );
}
