import { useState } from "preact/hooks";
import type { Action } from "../view-types.js";

/** The `holdfast` command for each thing that can be done. */
export function Commands({ actions }: { readonly actions: readonly Action[] }) {
  if (actions.length === 0)
    return <p>No command line can have this name: it has a NUL character.</p>;
  return (
    <dl class="actions">
      {actions.map(({ what, command }) => (
        <div key={what}>
          <dt>
            {what} <Copy text={command} what={what} />
          </dt>
          <dd>
            <code>{command}</code>
          </dd>
        </div>
      ))}
    </dl>
  );
}

function Copy({ text, what }: { readonly text: string; readonly what: string }) {
  const [said, setSaid] = useState("Copy");
  const copy = async (): Promise<void> => {
    try {
      await navigator.clipboard.writeText(text);
      setSaid("Copied");
    } catch {
      setSaid("Not copied: select the text");
    }
  };
  return (
    <button type="button" class="copy" title={`Copy the command: ${what}`} onClick={copy}>
      {said}
    </button>
  );
}
