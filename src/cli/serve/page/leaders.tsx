import type { Term } from "../view-types.js";
import { RecordLink } from "./links.js";
import { Foreign, length, visible } from "./text.js";

const SPAN_MS = 30 * 60_000;

/** A colour for an owner: the same in every reading. */
function hueOf(owner: string): number {
  let hash = 7;
  for (const character of owner) hash = (hash * 31 + (character.codePointAt(0) ?? 0)) % 997;
  return (hash * 137) % 360;
}

/** Terms as spans over time; a gap is a time without a leader, as far as readings showed. */
export function Leaders({
  terms,
  nowMs,
}: {
  readonly terms: readonly Term[];
  readonly nowMs: number;
}) {
  const names = [...new Set(terms.map(({ name }) => name))].sort();
  const earliest = Math.min(nowMs - 60_000, ...terms.map(({ fromMs }) => fromMs));
  const startMs = Math.max(earliest, nowMs - SPAN_MS);
  if (names.length === 0) return <p class="empty">No leader was seen.</p>;
  return (
    <section aria-label="Leaders">
      <p class="hint">
        The last {length(nowMs - startMs)}. Terms between two readings are not seen; the history of
        an election has those that were noted.
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
  return (
    <div class="spans" role="list">
      {terms
        .filter(({ toMs }) => (toMs ?? nowMs) >= startMs)
        .map(({ fence, owner, fromMs, toMs }) => (
          <div
            role="listitem"
            key={fence}
            class={toMs === undefined ? "span on" : "span"}
            title={`term ${fence}: ${visible(owner)}, ${length((toMs ?? nowMs) - fromMs)}`}
            style={{
              left: `${at(fromMs)}%`,
              width: `${Math.max(0.4, at(toMs ?? nowMs) - at(fromMs))}%`,
              "--hue": String(hueOf(owner)),
            }}
          >
            {fence} <Foreign text={owner} />
          </div>
        ))}
    </div>
  );
}
