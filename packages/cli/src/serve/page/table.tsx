import { useRef, useState } from "preact/hooks";
import type { Row } from "../view-types.js";
import { Life } from "./life.js";
import { queryOf, RecordLink } from "./links.js";
import { Foreign, length } from "./text.js";

/** The table of locks: of any number of rows, only those in view are in the document. */

const ROW_PX = 40;
const MORE_ROWS = 8;
// Before the first layout: about the height of a screen.
const FIRST_PX = 800;

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

/** The column by which the rows are sorted, and whether downwards. */
export interface Sorting {
  readonly key: Key;
  readonly isDown: boolean;
}

/** Sorts rows, equal rows by their names. */
export function sorted(rows: readonly Row[], { key, isDown }: Sorting): Row[] {
  const sign = isDown ? -1 : 1;
  return rows.toSorted((a, b) => {
    const [left, right] = [sortValue(a, key), sortValue(b, key)];
    if (left !== right) return left < right ? -sign : sign;
    return a.name < b.name ? -1 : a.name > b.name ? 1 : 0;
  });
}

function sortValue(row: Row, key: Key): string | number {
  if (key === "fence") return Number(row.fence ?? -1);
  if (key === "silentMs") return (row.silentMs ?? -1) / (row.leaseMs ?? 1);
  if (key === "used") return (row.permits?.used ?? -1) / (row.permits?.limit ?? 1);
  return row[key] ?? (key === "owner" ? "" : -1);
}

/** Renders the rows in view, and a few before and after them. */
export function Table(props: {
  readonly rows: readonly Row[];
  readonly sorting: Sorting;
  readonly setSorting: (sorting: Sorting) => void;
}) {
  const { rows, sorting, setSorting } = props;
  const [first, setFirst] = useState(0);
  const box = useRef<HTMLDivElement>(null);
  const inView = Math.ceil((box.current?.clientHeight ?? FIRST_PX) / ROW_PX) + 2 * MORE_ROWS;
  const from = Math.max(0, Math.min(first - MORE_ROWS, rows.length - inView));
  const shown = rows.slice(from, from + inView);
  const onScroll = (): void => setFirst(Math.floor((box.current?.scrollTop ?? 0) / ROW_PX));
  // All rows are as high together as if each were in the document; the table begins above the view, so its head sticks.
  const space = { height: `${(rows.length + 1) * ROW_PX}px`, paddingTop: `${from * ROW_PX}px` };
  return (
    <div class="body" ref={box} onScroll={onScroll}>
      <div style={space}>
        <table aria-label="Locks" aria-rowcount={rows.length + 1}>
          <thead>
            <tr aria-rowindex={1}>
              {COLUMNS.map((column) => (
                <Heading
                  key={column.key}
                  column={column}
                  sorting={sorting}
                  setSorting={setSorting}
                />
              ))}
            </tr>
          </thead>
          <tbody>
            {shown.map((row, index) => (
              <LockRow key={String(queryOf(row))} row={row} index={from + index + 2} />
            ))}
          </tbody>
        </table>
      </div>
    </div>
  );
}

function Heading(props: {
  readonly column: (typeof COLUMNS)[number];
  readonly sorting: Sorting;
  readonly setSorting: (sorting: Sorting) => void;
}) {
  const { column, sorting, setSorting } = props;
  const { key, title } = column;
  const isSorted = sorting.key === key;
  const order = sorting.isDown ? "descending" : "ascending";
  return (
    <th scope="col" class={`c-${key}`} aria-sort={isSorted ? order : "none"}>
      <button
        type="button"
        onClick={() => setSorting({ key, isDown: isSorted && !sorting.isDown })}
      >
        {title}
        {isSorted ? (sorting.isDown ? " ↓" : " ↑") : ""}
      </button>
    </th>
  );
}

function LockRow({ row, index }: { readonly row: Row; readonly index: number }) {
  return (
    <tr aria-rowindex={index} class={`row ${row.state}`}>
      <td class="c-name">
        <RecordLink record={row} />
      </td>
      <td class="c-kind">{row.kind}</td>
      <td class="c-owner">
        <Foreign text={row.state === "free" ? undefined : row.owner} />
        {row.request !== undefined && (
          <small>
            {" "}
            <Foreign text={row.request} />
          </small>
        )}
      </td>
      <td class="c-used">{inUse(row)}</td>
      <td class="c-heldForMs">{row.state === "free" ? "free" : length(row.heldForMs)}</td>
      <td class="c-fence">{row.fence ?? "–"}</td>
      <td class="c-silentMs">
        <Life row={row} />
      </td>
      <td class="c-waiters">{row.waiters === 0 ? "" : row.waiters}</td>
    </tr>
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
