import { useEffect, useState } from "preact/hooks";
import type { DetailAnswer, Row, TableAnswer, TableView } from "../view-types.js";

/** Requests to the server, with the token of the page's URL. */

const TOKEN = new URLSearchParams(location.search).get("token") ?? "";

async function ask<T>(path: string, body?: unknown): Promise<T> {
  const headers = { authorization: `Bearer ${TOKEN}` };
  const posted = body === undefined ? {} : { method: "POST", body: JSON.stringify(body) };
  const response = await fetch(path, { headers, ...posted });
  const answer = await response.json();
  if (!response.ok) throw new Error(answer.error ?? `The server answered ${response.status}.`);
  return answer as T;
}

/** The form of a forced release. `holder` names a permit. */
export interface ReleaseForm {
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
export interface Polled<T> {
  readonly answer?: T | undefined;
  /** When the answer arrived, on the page's clock. */
  readonly atMs: number;
  /** Why the server itself does not answer. */
  readonly lost?: string | undefined;
}

/** Asks again and again while the page is visible, and keeps the last answer. */
function usePolled<T>(path: string, everyMs: number, merge: (before: T | undefined, now: T) => T) {
  const [polled, setPolled] = useState<Polled<T>>({ atMs: 0 });
  useEffect(() => {
    let isOver = false;
    let timer: ReturnType<typeof setTimeout> | undefined;
    let last: T | undefined;
    const poll = async (): Promise<void> => {
      try {
        if (document.visibilityState === "visible") {
          const now = await ask<T>(path.replace("$after", String(numberOf(last))));
          last = merge(last, now);
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
  }, [path]);
  return polled;
}

function numberOf(last: unknown): number {
  return (last as { reading?: number } | undefined)?.reading ?? 0;
}

const withView = (before: TableAnswer | undefined, now: TableAnswer): TableAnswer => ({
  ...now,
  view: now.view ?? before?.view,
});

/** The reading of the table, every second. */
export function useTable(): Polled<TableAnswer> & { readonly view?: TableView | undefined } {
  const polled = usePolled<TableAnswer>("/api/table?after=$after", 1_000, withView);
  return { ...polled, view: polled.answer?.view };
}

/** The reading of one record, every second. */
export function useDetail(query: string): Polled<DetailAnswer> {
  return usePolled<DetailAnswer>(`/api/record?${query}`, 1_000, (_, now) => now);
}
