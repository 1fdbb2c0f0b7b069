import { useState } from "preact/hooks";
import type { Permit, Row } from "../view-types.js";
import { askRelease } from "./api.js";
import { Foreign, length, visible } from "./text.js";

/** Releases a lock, a leadership or one permit by force, after a reason and the typed name. */
export function Release(props: { readonly row: Row; readonly permits: readonly Permit[] }) {
  const { row, permits } = props;
  // Nothing is chosen for the operator: the order of the permits changes from reading to reading.
  const [chosen, setChosen] = useState("");
  const [reason, setReason] = useState("");
  const [confirm, setConfirm] = useState("");
  const [said, setSaid] = useState("");
  const isOfPermits = row.permits !== undefined;
  const freeText = isOfPermits ? "The permit is gone." : "It is free.";
  // A field takes no line break: such a name is typed as the page shows it.
  const isConfirmed = confirm === row.name || confirm === visible(row.name);
  const isKnown = permits.some(({ holder }) => holder === chosen);
  const holder = isOfPermits ? chosen : undefined;
  const submit = async (event: SubmitEvent): Promise<void> => {
    event.preventDefault();
    setSaid("Asking …");
    try {
      const form = { holder, reason, confirm: isConfirmed ? row.name : confirm };
      const { isFree, owner, successor } = await askRelease(row, form);
      setSaid(isFree ? freeText : askedText(owner, successor));
      setConfirm("");
    } catch (error) {
      setSaid((error as Error).message);
    }
  };
  const isReady = reason.trim() !== "" && isConfirmed && (!isOfPermits || isKnown);
  return (
    <form class="part release" onSubmit={submit}>
      <h3>Forced release</h3>
      {isOfPermits && (
        <PermitChoice permits={permits} chosen={isKnown ? chosen : ""} setChosen={setChosen} />
      )}
      <label>
        Reason, for the holder and the history
        <input
          name="reason"
          maxLength={1_000}
          value={reason}
          onInput={(event) => setReason(event.currentTarget.value)}
        />
      </label>
      <label>
        Type the name to confirm
        <input
          name="confirm"
          autocomplete="off"
          value={confirm}
          onInput={(event) => setConfirm(event.currentTarget.value)}
        />
      </label>
      <button type="submit" disabled={!isReady}>
        Ask the holder to release
      </button>
      <p role="status">
        <Foreign text={said === "" ? `Lease: ${length(row.leaseMs)}.` : said} />
      </p>
    </form>
  );
}

function askedText(owner = "The holder", successor?: string): string {
  return successor === undefined
    ? `${owner} was asked to release, and ends at its next renewal.`
    : `${successor} holds it now, and was not asked.`;
}

function PermitChoice(props: {
  readonly permits: readonly Permit[];
  readonly chosen: string;
  readonly setChosen: (holder: string) => void;
}) {
  const { permits, chosen, setChosen } = props;
  return (
    <label>
      Permit
      <select
        name="holder"
        value={chosen}
        onChange={(event) => setChosen(event.currentTarget.value)}
      >
        <option value="">Choose a permit</option>
        {permits.map(({ holder, owner, fence }) => (
          <option key={holder} value={holder}>
            {visible(owner ?? holder)}, fence {fence}
          </option>
        ))}
      </select>
    </label>
  );
}
