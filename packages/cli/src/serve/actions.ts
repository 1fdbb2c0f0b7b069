import { hasQueue } from "../output/permits.js";
import { commandText, isWord, optionText } from "../output/shell.js";
import type { Action, Permit, Row } from "./view-types.js";

/** The `holdfast` commands for what can be done. Pure. */

/** The commands for what can be done with a record. Empty if no command line can have the record's name. */
export function actionsOf(row: Row, table: string): Action[] {
  const { kind, name, state, holder, permits } = row;
  const action = actionOf(row, table);
  // Of several permits, each has commands of its own.
  const isHeld = state !== "free" && kind !== "once" && permits === undefined;
  const limit = `--set-limit ${permits?.limit ?? 1}`;
  const all: Action[] = [
    action("Inspect", "inspect"),
    ...(kind === "once" ? [] : [action("Show the history", "history")]),
    ...(hasQueue(kind) ? [action("List the queue", "queue")] : []),
    ...(kind === "semaphore"
      ? [
          {
            what: "Change the limit",
            command: commandText("semaphore", name, [optionText("--table", table), limit]),
          },
        ]
      : []),
    ...(isHeld && kind === "lock" ? [action("Tell the holder to stop", "interrupt")] : []),
    ...(isHeld ? [action("Ask the holder to release", "release", FORCE)] : []),
    ...(isHeld && kind === "lock" && holder !== undefined
      ? [action("Free it, if its process has ended", "release", optionText("--holder", holder))]
      : []),
  ];
  return areWords(row, holder) ? all : [];
}

/** Returns the commands that end one permit. */
export function actionsOfPermit(row: Row, { holder }: Permit, table: string): Action[] {
  if (!areWords(row, holder)) return [];
  const action = actionOf(row, table);
  const of = optionText("--holder", holder);
  return [
    action("Ask the holder to release", "release", `${of} ${FORCE}`),
    action("Free it, if its process has ended", "release", of),
  ];
}

const FORCE = "--force --reason 'WHY'";

function areWords({ name, namespace = "" }: Row, holder = ""): boolean {
  return [name, namespace, holder].every(isWord);
}

function actionOf({ kind, name, namespace }: Row, table: string) {
  const options = [
    optionText("--table", table),
    ...(kind === "lock" ? [] : [`--kind ${kind}`]),
    ...(namespace === undefined ? [] : [optionText("--namespace", namespace)]),
  ];
  return (what: string, verb: string, more?: string): Action => ({
    what,
    command: commandText(verb, name, more === undefined ? options : [...options, more]),
  });
}
