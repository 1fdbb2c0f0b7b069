import type { Action, Permit, Row } from "./view-types.js";

/** The `holdfast` commands for what can be done. Pure. */

/** The commands for what can be done with a record. */
export function actionsOf(row: Row, table: string): Action[] {
  const { kind, name, state, holder, permits } = row;
  const command = commandOf(row, table);
  // Of several permits, each has commands of its own.
  const isHeld = state !== "free" && kind !== "once" && permits === undefined;
  const hasQueue = kind === "lock" || permits !== undefined;
  const limit = `holdfast semaphore ${quoted(name)} --table ${quoted(table)} --set-limit`;
  return [
    { what: "Inspect", command: command("inspect") },
    ...(kind === "once" ? [] : [{ what: "Show the history", command: command("history") }]),
    ...(hasQueue ? [{ what: "List the queue", command: command("queue") }] : []),
    ...(kind === "semaphore"
      ? [{ what: "Change the limit", command: `${limit} ${permits?.limit ?? 1}` }]
      : []),
    ...(isHeld
      ? [
          {
            what: "Ask the holder to release",
            command: command("release", " --force --reason 'WHY'"),
          },
        ]
      : []),
    ...(isHeld && kind === "lock" && holder !== undefined
      ? [
          {
            what: "Free it, if its process has ended",
            command: command("release", ` --holder ${quoted(holder)}`),
          },
        ]
      : []),
  ];
}

/** The commands for what can be done with one permit. */
export function actionsOfPermit(row: Row, { holder }: Permit, table: string): Action[] {
  const command = commandOf(row, table);
  const of = ` --holder ${quoted(holder)}`;
  return [
    {
      what: "Ask the holder to release",
      command: command("release", `${of} --force --reason 'WHY'`),
    },
    { what: "Free it, if its process has ended", command: command("release", of) },
  ];
}

function commandOf({ kind, name, namespace }: Row, table: string) {
  const words = [
    `--table ${quoted(table)}`,
    ...(kind === "lock" ? [] : [`--kind ${kind}`]),
    ...(namespace === undefined ? [] : [`--namespace ${quoted(namespace)}`]),
  ].join(" ");
  return (verb: string, more = ""): string => `holdfast ${verb} ${quoted(name)} ${words}${more}`;
}

/** Quotes a word for a POSIX shell. */
export function quoted(word: string): string {
  return /^[\w./:@-]+$/.test(word) && !word.startsWith("-")
    ? word
    : `'${word.replaceAll("'", "'\\''")}'`;
}
