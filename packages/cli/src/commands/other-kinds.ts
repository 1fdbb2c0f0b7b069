import { type Holdfast, inspect, isHoldfastError } from "holdfast";
import type { PermitKind, RecordKind } from "holdfast/admin";
import type { CommonOptions, NamespaceOptions } from "../options.js";
import type { AnyLocks } from "../output/format.js";
import type { Output } from "../output/output.js";
import { commandLine } from "../output/shell.js";

type AnyKind = RecordKind | PermitKind;

/** What a record of each kind is, and the commands that show it. */
const KINDS: Readonly<Record<AnyKind, { readonly is: string; readonly history: boolean }>> = {
  lock: { is: "a lock", history: true },
  leader: { is: "an election", history: true },
  semaphore: { is: "a semaphore", history: true },
  "read-write": { is: "a read-write lock", history: true },
  once: { is: "a task", history: false },
};

interface Asked extends CommonOptions, NamespaceOptions {
  readonly kind?: AnyKind;
}

/**
 * Points to records of the same name and another kind, for a command that found none: each kind has its own record. Sends a
 * read for each kind.
 */
export async function pointAtOtherKinds(
  command: "inspect" | "history",
  locks: Holdfast<AnyLocks>,
  name: string,
  { format, kind: asked = "lock", namespace }: Asked,
  output: Output,
): Promise<void> {
  // In other clients' formats an election is a lock.
  const isApart = format === undefined || format === "native";
  if (!isApart || namespace !== undefined || output.isJson) return;
  for (const [kind, { is, history }] of Object.entries(KINDS)) {
    if (kind === asked || (command === "history" && !history)) continue;
    if (!(await isThere(locks, name, kind as AnyKind))) continue;
    const words =
      kind === "leader" && command === "inspect" ? ["leader"] : [command, "--kind", kind];
    const shows =
      commandLine([...words, "--", name], [name]) ?? `see \`holdfast ${words[0]} --help\``;
    output.note(`There is ${is} with this name: ${shows}`);
  }
}

async function isThere(locks: Holdfast<AnyLocks>, name: string, kind: AnyKind): Promise<boolean> {
  try {
    const { state } = await inspect(locks, name, { kind } as { readonly kind: RecordKind });
    return state !== "absent";
  } catch (error) {
    if (!isHoldfastError(error)) throw error;
    // Without a read of the other kinds, such as without permission, the kind that was asked for is the answer.
    return error.code === "foreign-record" || error.code === "unsupported-layout";
  }
}
