import type { Command } from "commander";
import { usageError } from "./output/exit-codes.js";

/** What a command of ours is about, and the user's command that it runs. */
export interface Operands {
  readonly names: readonly string[];
  readonly command: readonly string[];
}

/**
 * Splits the operands of `holdfast <verb> NAME... -- COMMAND ARG...` at the two dashes. The parser drops the
 * dashes, so the length of what follows them in `words` says where the names end. A name that is missing must
 * not be filled by a word of the command: two jobs whose unset variable was their name would run at once.
 * Throws a usage error where a name or the command is missing.
 */
export function operandsOf(
  verb: string,
  words: readonly string[],
  operands: readonly string[],
): Operands {
  const example = `holdfast ${verb} NAME -- COMMAND ARG...`;
  const command = words.includes("--") ? words.slice(words.indexOf("--") + 1) : [];
  if (command.length === 0) throw usageError(`Put the command after two dashes: ${example}`);
  const names = operands.slice(0, Math.max(0, operands.length - command.length));
  if (names.length === 0) {
    throw usageError(`The name before the two dashes is missing: ${example}`);
  }
  return { names, command };
}

/**
 * Refuses two dashes as the value of an option: the value is missing, as with an unset variable, and the parser
 * took the dashes for it. Throws a usage error.
 */
export function refuseDashesAsValue(command: Command): void {
  for (const [option, value] of Object.entries(command.opts())) {
    const values: unknown[] = Array.isArray(value) ? value : [value];
    if (values.includes("--")) {
      throw usageError(`The option "${option}" has no value before the two dashes.`);
    }
  }
}
