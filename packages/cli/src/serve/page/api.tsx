import { useEffect, useState } from "preact/hooks";
import type { DetailAnswer, Row, TableAnswer, TableView } from "../view-types.js";

/** Requests to the server, which the page's cookie permits. */

async function ask<T>(path: string, body?: unknown): Promise<T> {
  const posted = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
  const response = await fetch(path, posted);
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.error ?? `The server answered ${response.status}.`);
  return answer as T;
}

/** The form of a forced release. `holder` names a permit. */
interface ReleaseForm {
  readonly holder: string | undefined;
  readonly reason: string;
  readonly confirm: string;
}

/** Asks the server for a forced release. */
export function askRelease({ kind, name, namespace }: Row, form: ReleaseForm) {
  return ask<{ isFree: boolean; owner?: string; successor?: string }>("/api/release", {
    ...{ kind, name, namespace },
    ...form,
  });
}

/** The last answer to a repeated request. */
interface Polled<T> {
  readonly answer?: T | undefined;
  /** When the answer arrived, on the page's clock. */
  readonly atMs: number;
  /** Why the server itself does not answer. */
  readonly lost?: string | undefined;
}

/** Asks again and again while the page is visible, and keeps the last answer. */
function usePolled<T>(what: string, everyMs: number, next: (before: T | undefined) => Promise<T>) {
  const [polled, setPolled] = useState<Polled<T>>({ atMs: 0 });
  useEffect(() => {
    let isOver = false;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let last: T | undefined;
    const poll = async (): Promise<void> => {
      try {
        if (document.visibilityState === "visible") {
          last = await next(last);
          if (!isOver) setPolled({ answer: last, atMs: performance.now() });
        }
      } catch (error) {
        if (!isOver) setPolled((before) => ({ ...before, lost: String((error as Error).message) }));
      }
      if (!isOver) timer = setTimeout(poll, everyMs);
    };
    void poll();
    return () => {
      isOver = true;
      clearTimeout(timer);
    };
  }, [what]);
  return polled;
}

/** Asks for all pages of the reading, unless `before` has it. */
async function nextTable(before: TableAnswer | undefined): Promise<TableAnswer> {
  const first = await ask<TableAnswer>(`/api/table?after=${before?.reading ?? 0}`);
  if (first.view === undefined) return { ...first, view: before?.view };
  const views = [first.view];
  for (let page = 1; page < first.pages; page += 1) {
    const more = await ask<TableAnswer>(`/api/table?page=${page}`);
    // A page of a later reading: the next request asks for all of that reading.
    if (more.view === undefined || more.reading !== first.reading) {
      return { ...first, reading: before?.reading ?? 0, view: before?.view };
    }
    views.push(more.view);
  }
  return { ...first, view: joined(views) };
}

function joined(views: readonly TableView[]): TableView {
  return {
    rows: views.flatMap(({ rows }) => rows),
    sessions: views.flatMap(({ sessions }) => sessions),
    terms: views.flatMap(({ terms }) => terms),
    members: views.flatMap(({ members }) => members),
    unreadable: views.flatMap(({ unreadable }) => unreadable),
  };
}

/** The reading of the table, every second. */
export function useTable(): Polled<TableAnswer> & { readonly view?: TableView | undefined } {
  const polled = usePolled("/api/table", 1_000, nextTable);
  return { ...polled, view: polled.answer?.view };
}

/** The reading of one record, every second. */
export function useDetail(query: string): Polled<DetailAnswer> {
  return usePolled(query, 1_000, () => ask<DetailAnswer>(`/api/record?${query}`));
}
