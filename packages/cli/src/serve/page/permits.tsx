import type { PermitDetail, Row } from "../view-types.js";
import { Commands } from "./commands.js";
import { Life } from "./life.js";
import { SessionLink } from "./links.js";
import { Foreign } from "./text.js";

/** The permits of a semaphore or of a read-write lock, those silent for longest first. */
export function Permits(props: { readonly row: Row; readonly permits: readonly PermitDetail[] }) {
  const { row, permits } = props;
  return (
    <div class="part permits">
      <h3>Permits</h3>
      {permits.length === 0 ? (
        <p>No permit is held.</p>
      ) : (
        <ul>
          {permits.map((permit) => (
            <li key={permit.holder} class={permit.state}>
              <PermitText row={row} permit={permit} />
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}

function PermitText({ row, permit }: { readonly row: Row; readonly permit: PermitDetail }) {
  const { owner, holder, fence, session, state, actions } = permit;
  return (
    <>
      <b>
        <Foreign text={owner ?? holder} />
      </b>
      <span class="tag">{weightText(row, permit)}</span>{" "}
      <span class={state === "held" ? "tag" : "tag red"}>{state}</span> <Life row={permit} />{" "}
      <small>
        fence {fence}, <SessionLink id={session} text="session" />
      </small>
      <details>
        <summary>Commands</summary>
        <Commands actions={actions} />
      </details>
    </>
  );
}

/** A writer takes the whole limit, so that no reader fits beside it. */
function weightText({ kind, permits }: Row, { weight }: PermitDetail): string {
  if (kind === "semaphore") return `weight ${weight}`;
  return weight === permits?.limit ? "writer" : "reader";
}
