import { render } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { useTable } from "./api.js";
import { Assignments } from "./assignments.js";
import { Header } from "./frame.js";
import { Leaders } from "./leaders.js";
import { FIRST_CHOICE, Locks } from "./list.js";
import { RecordView } from "./record.js";
import { Schedules } from "./schedules.js";
import { Sessions } from "./sessions.js";

/** The part of the URL after `#/`. */
function useRoute(): string {
  const [route, setRoute] = useState(location.hash.slice(2));
  useEffect(() => {
    const onChange = (): void => setRoute(location.hash.slice(2));
    addEventListener("hashchange", onChange);
    return () => removeEventListener("hashchange", onChange);
  }, []);
  return route;
}

/** Moves the focus to the new view, so that the keyboard and a screen reader go on there. */
function useRouteFocus(route: string) {
  const main = useRef<HTMLElement>(null);
  const last = useRef(route);
  // In the frame of the new view: a key that is pressed at once must not reach the old place.
  useLayoutEffect(() => {
    if (last.current !== route) main.current?.focus();
    last.current = route;
  }, [route]);
  return main;
}

function Page() {
  const route = useRoute();
  const { answer, view, atMs, lost } = useTable();
  const [choice, setChoice] = useState(FIRST_CHOICE);
  const [page = "", query = ""] = route.split("?");
  const main = useRouteFocus(route);
  return (
    <>
      <Header status={answer} atMs={atMs} lost={lost} page={page} />
      <main ref={main} tabIndex={-1}>
        {page === "record" ? (
          <RecordView key={query} query={query} />
        ) : view === undefined ? (
          <p class="empty">{answer?.error === undefined ? "Reading …" : "No reading yet."}</p>
        ) : page === "leaders" ? (
          <Leaders terms={view.terms} nowMs={answer?.nowMs ?? 0} />
        ) : page === "schedules" ? (
          <Schedules rows={view.rows} />
        ) : page === "assignments" ? (
          <Assignments {...view} />
        ) : page === "sessions" ? (
          <Sessions sessions={view.sessions} chosen={new URLSearchParams(query).get("id")} />
        ) : (
          <Locks {...view} choice={choice} setChoice={setChoice} />
        )}
      </main>
    </>
  );
}

const app = document.getElementById("app");
if (app !== null) render(<Page />, app);
