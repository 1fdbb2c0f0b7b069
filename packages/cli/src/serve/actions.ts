import type { CommonOptions } from "../options.js";
import { hasQueue } from "../output/permits.js";
import { commandText, isWord, optionText } from "../output/shell.js";
import type { Action, Permit, Row } from "./view-types.js";

/** The `holdfast` commands for what can be done. Pure. */

const PLACE = ["table", "region", "endpoint", "pk", "sk"] as const;

/** The options with which a command acts on the server's table. */
export function placeOf(options: Pick<CommonOptions, (typeof PLACE)[number]>): string[] {
  return PLACE.flatMap((name) => {
    const value = options[name];
    return value ? [optionText(`--${name}`, value)] : [];
  });
}

/** The commands for what can be done with a record. Empty if no command line can have the record's name. */
export function actionsOf(row: Row, place: readonly string[]): Action[] {
  const { kind, name, state, holder, permits } = row;
  const action = actionOf(row, place);
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
            command: commandText("semaphore", name, [...place, limit]),
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
export function actionsOfPermit(row: Row, { holder }: Permit, place: readonly string[]): Action[] {
  if (!areWords(row, holder)) return [];
  const action = actionOf(row, place);
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

function actionOf({ kind, name, namespace }: Row, place: readonly string[]) {
  const options = [
    ...place,
    ...(kind === "lock" ? [] : [`--kind ${kind}`]),
    ...(namespace === undefined ? [] : [optionText("--namespace", namespace)]),
  ];
  return (what: string, verb: string, more?: string): Action => ({
    what,
    command: commandText(verb, name, more === undefined ? options : [...options, more]),
  });
}
