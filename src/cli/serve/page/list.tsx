import { useMemo, useRef, useState } from "preact/hooks";
import type { Row, Unreadable } from "../view-types.js";
import { RecordLink } from "./links.js";
import { Foreign, length } from "./text.js";

const ROW_PX = 40;
const MORE_ROWS = 8;

const COLUMNS = [
  { key: "name", title: "Name" },
  { key: "kind", title: "Kind" },
  { key: "owner", title: "Owner" },
  { key: "used", title: "In use" },
  { key: "heldForMs", title: "Held for" },
  { key: "fence", title: "Fence" },
  { key: "silentMs", title: "Last sign of life" },
  { key: "waiters", title: "Waiters" },
] as const;
type Key = (typeof COLUMNS)[number]["key"];

function sortValue(row: Row, key: Key): string | number {
  if (key === "fence") return Number(row.fence ?? -1);
  if (key === "silentMs") return (row.silentMs ?? -1) / (row.leaseMs ?? 1);
  if (key === "used") return (row.permits?.used ?? -1) / (row.permits?.limit ?? 1);
  return row[key] ?? (key === "owner" ? "" : -1);
}

function chosen(rows: readonly Row[], text: string, which: string, key: Key, isDown: boolean) {
  const wanted = text.toLowerCase();
  const kept = rows.filter(
    (row) =>
      (which === "all" ||
        (which === "held"
          ? row.state !== "free"
          : row.state === "late" || row.state === "silent")) &&
      (wanted === "" ||
        `${row.name} ${row.owner ?? ""} ${row.kind}`.toLowerCase().includes(wanted)),
  );
  const sign = isDown ? -1 : 1;
  return kept.sort((a, b) => {
    const [left, right] = [sortValue(a, key), sortValue(b, key)];
    return left < right ? -sign : left > right ? sign : 0;
  });
}

export function Locks(props: {
  readonly rows: readonly Row[];
  readonly unreadable: readonly Unreadable[];
}) {
  const [text, setText] = useState("");
  const [which, setWhich] = useState("held");
  const [sort, setSort] = useState<{ key: Key; isDown: boolean }>({ key: "name", isDown: false });
  const rows = useMemo(
    () => chosen(props.rows, text, which, sort.key, sort.isDown),
    [props.rows, text, which, sort],
  );
  return (
    <section aria-label="Locks">
      <div class="tools">
        <input
          type="search"
          aria-label="Filter by name, owner or kind"
          placeholder="Filter by name, owner or kind"
          value={text}
          onInput={(event) => setText(event.currentTarget.value)}
        />
        <select
          aria-label="Which locks"
          value={which}
          onChange={(event) => setWhich(event.currentTarget.value)}
        >
          <option value="held">Held</option>
          <option value="silent">Silent</option>
          <option value="all">All</option>
        </select>
        <span class="count">
          {rows.length} of {props.rows.length}
        </span>
      </div>
      <Table rows={rows} sort={sort} setSort={setSort} />
      {props.unreadable.length > 0 && (
        <details class="unreadable">
          <summary>{props.unreadable.length} unreadable records</summary>
          <ul>
            {props.unreadable.slice(0, 200).map(({ kind, name, found }) => (
              <li key={`${kind} ${name}`}>
                <Foreign text={name} /> ({kind}): <Foreign text={found} />
              </li>
            ))}
          </ul>
        </details>
      )}
    </section>
  );
}

interface Sorting {
  readonly key: Key;
  readonly isDown: boolean;
}

/** Renders only the rows in view. */
function Table(props: {
  readonly rows: readonly Row[];
  readonly sort: Sorting;
  readonly setSort: (sort: Sorting) => void;
}) {
  const { rows, sort, setSort } = props;
  const [first, setFirst] = useState(0);
  const box = useRef<HTMLDivElement>(null);
  const from = Math.min(Math.max(0, first - MORE_ROWS), Math.max(0, rows.length - 1));
  const inView = Math.ceil((box.current?.clientHeight ?? 800) / ROW_PX) + 2 * MORE_ROWS;
  const onScroll = (): void => setFirst(Math.floor((box.current?.scrollTop ?? 0) / ROW_PX));
  if (rows.length === 0) return <p class="empty">No lock fits.</p>;
  return (
    <div class="table" role="table" aria-rowcount={rows.length + 1} aria-label="Locks">
      <div role="row" class="row head">
        {COLUMNS.map(({ key, title }) => (
          <div
            role="columnheader"
            class={`c-${key}`}
            aria-sort={sort.key !== key ? "none" : sort.isDown ? "descending" : "ascending"}
          >
            <button
              type="button"
              onClick={() => setSort({ key, isDown: sort.key === key && !sort.isDown })}
            >
              {title}
              {sort.key === key ? (sort.isDown ? " ↓" : " ↑") : ""}
            </button>
          </div>
        ))}
      </div>
      <div class="body" ref={box} onScroll={onScroll} role="rowgroup" tabIndex={-1}>
        <div class="space" style={{ height: `${rows.length * ROW_PX}px` }}>
          {rows.slice(from, from + inView).map((row, index) => (
            <RowOf
              key={`${row.kind} ${row.namespace ?? ""} ${row.name}`}
              row={row}
              at={from + index}
            />
          ))}
        </div>
      </div>
    </div>
  );
}

function RowOf({ row, at }: { readonly row: Row; readonly at: number }) {
  return (
    <div
      role="row"
      aria-rowindex={at + 2}
      class={`row ${row.state}`}
      style={{ transform: `translateY(${at * ROW_PX}px)` }}
    >
      <div role="cell" class="c-name">
        <RecordLink record={row} />
      </div>
      <div role="cell" class="c-kind">
        {row.kind}
      </div>
      <div role="cell" class="c-owner">
        <Foreign text={row.state === "free" ? undefined : row.owner} />
      </div>
      <div role="cell" class="c-used">
        {inUse(row)}
      </div>
      <div role="cell" class="c-heldForMs">
        {row.state === "free" ? "free" : length(row.heldForMs)}
      </div>
      <div role="cell" class="c-fence">
        {row.fence ?? "–"}
      </div>
      <div role="cell" class="c-silentMs">
        <Life row={row} />
      </div>
      <div role="cell" class="c-waiters">
        {row.waiters === 0 ? "" : row.waiters}
      </div>
    </div>
  );
}

/** How much of a limit is in use. The limit of a read-write lock is no number of its user. */
function inUse({ kind, permits }: Row): string {
  if (permits === undefined) return "";
  const { used, limit, holders } = permits;
  if (kind === "semaphore") return `${used} of ${limit ?? "–"}`;
  if (holders === 0) return "";
  if (used === limit) return "writer";
  return holders === 1 ? "1 reader" : `${holders} readers`;
}

/** The time since the last sign of life, against the lease. */
export function Life({ row }: { readonly row: Pick<Row, "state" | "leaseMs" | "silentMs"> }) {
  if (row.state === "free" || row.leaseMs === undefined) return <span class="life none" />;
  const part = Math.min(1, (row.silentMs ?? 0) / row.leaseMs);
  const isRed = row.state === "late" || row.state === "silent";
  const said = `${length(row.silentMs)} of ${length(row.leaseMs)}`;
  return (
    <span
      class={`life ${isRed ? "red" : part > 0.67 ? "amber" : "green"}`}
      title={isRed ? `silent: ${said}` : said}
    >
      <span class="bar" aria-hidden="true">
        <span style={{ width: `${Math.max(3, (isRed ? 1 : part) * 100)}%` }} />
      </span>
      <span class="said">
        {isRed ? "silent " : ""}
        {said}
      </span>
    </span>
  );
}
