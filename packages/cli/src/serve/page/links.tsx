import type { Named } from "../view-types.js";
import { Foreign } from "./text.js";

/** Links between the views. */

/** A record's name, as a query. */
export function queryOf({ kind, name, namespace }: Named) {
  return new URLSearchParams({ kind, name, ...(namespace === undefined ? {} : { namespace }) });
}

/** A link to the view of one record. */
export function RecordLink({ record }: { readonly record: Named }) {
  const { name, namespace } = record;
  return (
    <>
      <a href={`#/record?${queryOf(record)}`}>
        <Foreign text={name} />
      </a>
      {namespace !== undefined && (
        <small>
          {" in "}
          <Foreign text={namespace} />
        </small>
      )}
    </>
  );
}

const MOST_LINKS = 200;

/** Links to records of any kind: a name alone would be open between the kinds. */
export function RecordLinks({ records }: { readonly records: readonly Named[] }) {
  return (
    <ul>
      {records.slice(0, MOST_LINKS).map((record) => (
        <li key={String(queryOf(record))}>
          <RecordLink record={record} /> <span class="tag">{record.kind}</span>
        </li>
      ))}
    </ul>
  );
}

/** A link to the session in the view of sessions. */
export function SessionLink({ id, text }: { readonly id: string; readonly text: string }) {
  return (
    <a href={`#/sessions?${new URLSearchParams({ id })}`}>
      <Foreign text={text} />
    </a>
  );
}
