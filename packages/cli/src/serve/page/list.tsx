import { useMemo } from "preact/hooks";
import type { Row, Unreadable } from "../view-types.js";
import { type Sorting, sorted, Table } from "./table.js";
import { Foreign } from "./text.js";

/** What the viewer chose in the list of locks. */
export interface Choice extends Sorting {
  readonly text: string;
  readonly which: "held" | "silent" | "all";
}

/** The list as it opens. */
export const FIRST_CHOICE: Choice = { text: "", which: "held", key: "name", isDown: false };

function chosen(rows: readonly Row[], { text, which, ...sorting }: Choice): Row[] {
  const wanted = text.toLowerCase();
  const isWhich = ({ state }: Row): boolean =>
    which === "all" ||
    (which === "held" ? state !== "free" : state === "late" || state === "silent");
  const isNamed = ({ name, owner = "", kind }: Row): boolean =>
    wanted === "" || `${name} ${owner} ${kind}`.toLowerCase().includes(wanted);
  return sorted(
    rows.filter((row) => isWhich(row) && isNamed(row)),
    sorting,
  );
}

/** The list of locks, with a filter. */
export function Locks(props: {
  readonly rows: readonly Row[];
  readonly unreadable: readonly Unreadable[];
  readonly choice: Choice;
  readonly setChoice: (choice: Choice) => void;
}) {
  const { choice, setChoice, unreadable } = props;
  const rows = useMemo(() => chosen(props.rows, choice), [props.rows, choice]);
  return (
    <section aria-label="Locks" class="locks">
      <div class="tools">
        <input
          type="search"
          aria-label="Filter by name, owner or kind"
          placeholder="Filter by name, owner or kind"
          value={choice.text}
          onInput={(event) => setChoice({ ...choice, text: event.currentTarget.value })}
        />
        <select
          aria-label="Which locks"
          value={choice.which}
          onChange={(event) =>
            setChoice({ ...choice, which: event.currentTarget.value as Choice["which"] })
          }
        >
          <option value="held">Held</option>
          <option value="silent">Silent</option>
          <option value="all">All</option>
        </select>
        <span class="count">
          {rows.length} of {props.rows.length}
        </span>
      </div>
      {rows.length === 0 ? (
        <p class="empty">
          {props.rows.length === 0 ? "The reading shows no locks." : "No lock fits the filter."}
        </p>
      ) : (
        <Table rows={rows} sorting={choice} setSorting={(to) => setChoice({ ...choice, ...to })} />
      )}
      {unreadable.length > 0 && <UnreadableList records={unreadable} />}
    </section>
  );
}

const MOST_UNREADABLE = 200;

function UnreadableList({ records }: { readonly records: readonly Unreadable[] }) {
  return (
    <details class="unreadable">
      <summary>{records.length} unreadable records</summary>
      <ul>
        {records.slice(0, MOST_UNREADABLE).map(({ kind, name, found }) => (
          <li key={`${kind} ${name}`}>
            <Foreign text={name} /> ({kind}): <Foreign text={found} />
          </li>
        ))}
      </ul>
    </details>
  );
}
