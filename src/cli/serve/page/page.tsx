import { render } from "preact";
import { useEffect, useState } from "preact/hooks";
import { useTable } from "./api.js";
import { Header } from "./frame.js";
import { Leaders } from "./leaders.js";
import { Locks } from "./list.js";
import { RecordView } from "./record.js";
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

function Page() {
  const route = useRoute();
  const { answer, view, atMs, lost } = useTable();
  const [page = "", query = ""] = route.split("?");
  return (
    <>
      <Header status={answer} atMs={atMs} lost={lost} page={page} />
      <main>
        {page === "record" ? (
          <RecordView key={query} query={query} />
        ) : view === undefined ? (
          <p class="empty">{answer?.error === undefined ? "Reading …" : "No reading yet."}</p>
        ) : page === "leaders" ? (
          <Leaders terms={view.terms} nowMs={answer?.nowMs ?? 0} />
        ) : page === "sessions" ? (
          <Sessions sessions={view.sessions} chosen={new URLSearchParams(query).get("id")} />
        ) : (
          <Locks rows={view.rows} unreadable={view.unreadable} />
        )}
      </main>
    </>
  );
}

const app = document.getElementById("app");
if (app !== null) render(<Page />, app);
