import { useState } from "preact/hooks";
import type { Term } from "../view-types.js";
import { RecordLink } from "./links.js";
import { Foreign, length, visible } from "./text.js";

const MINUTE_MS = 60_000;
const WINDOWS = [
  [30 * MINUTE_MS, "Last 30 minutes"],
  [6 * 60 * MINUTE_MS, "Last 6 hours"],
  [3 * 24 * 60 * MINUTE_MS, "Last 3 days"],
  [30 * 24 * 60 * MINUTE_MS, "Last 30 days"],
] as const;
const [[FIRST_WINDOW_MS]] = WINDOWS;

/** A colour for an owner: the same in every reading. */
function hueOf(owner: string): number {
  let hash = 7;
  for (const character of owner) hash = (hash * 31 + (character.codePointAt(0) ?? 0)) % 997;
  return (hash * 137) % 360;
}

/** Terms as spans over time; a gap is a time without a known leader. */
export function Leaders({
  terms,
  nowMs,
}: {
  readonly terms: readonly Term[];
  readonly nowMs: number;
}) {
  const [windowMs, setWindowMs] = useState<number>(FIRST_WINDOW_MS);
  const names = [...new Set(terms.map(({ name }) => name))].sort();
  const earliest = Math.min(nowMs - MINUTE_MS, ...terms.map(({ fromMs }) => fromMs));
  const startMs = Math.max(earliest, nowMs - windowMs);
  if (names.length === 0) return <p class="empty">No leader was seen.</p>;
  return (
    <section aria-label="Leaders">
      <div class="tools">
        <select
          aria-label="Time shown"
          value={windowMs}
          onChange={(event) => setWindowMs(Number(event.currentTarget.value))}
        >
          {WINDOWS.map(([ms, title]) => (
            <option key={ms} value={ms}>
              {title}
            </option>
          ))}
        </select>
        <span class="count">from {length(nowMs - startMs)} ago until now</span>
      </div>
      <p class="hint">
        Terms that readings of this server showed, and terms that candidates noted. The end of a
        fading term is unknown. Hatched: no known leader.
      </p>
      {names.map((name) => (
        <div class="leader" key={name}>
          <RecordLink record={{ kind: "leader", name }} />
          <Spans terms={terms.filter((one) => one.name === name)} startMs={startMs} nowMs={nowMs} />
        </div>
      ))}
    </section>
  );
}

function Spans(props: {
  readonly terms: readonly Term[];
  readonly startMs: number;
  readonly nowMs: number;
}) {
  const { terms, startMs, nowMs } = props;
  const at = (ms: number): number =>
    (Math.max(0, ms - startMs) / Math.max(1, nowMs - startMs)) * 100;
  const shown = terms.filter(({ toMs = nowMs }) => toMs >= startMs);
  return (
    <ol class="spans">
      {shown.map((term) => {
        const { fence, owner, state, fromMs, toMs = nowMs } = term;
        const style = {
          left: `${at(fromMs)}%`,
          width: `${Math.max(NARROWEST, at(toMs) - at(fromMs))}%`,
          "--hue": String(hueOf(owner)),
        };
        const text = termText(term, nowMs);
        return (
          <li
            key={fence}
            class={`span ${state}`}
            title={`${visible(owner)}: ${text}`}
            style={style}
          >
            <Foreign text={owner} /> {text}
          </li>
        );
      })}
    </ol>
  );
}

// In percent of the width: a term of an instant can still be seen.
const NARROWEST = 0.4;

function termText({ fence, state, fromMs, toMs = 0 }: Term, nowMs: number): string {
  if (state === "on") return `leads for ${length(nowMs - fromMs)}, term ${fence}`;
  const howLong = state === "ended" ? "led for" : "led for at most";
  return `${howLong} ${length(toMs - fromMs)}, term ${fence}`;
}
