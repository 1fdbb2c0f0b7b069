import type { Command } from "commander";
import { usageError } from "./output/exit-codes.js";

/** The names for a command of holdfast, and the user's command to run. */
interface Operands {
  readonly names: readonly string[];
  readonly command: readonly string[];
}

/**
 * Splits the operands of `holdfast <verb> NAME... -- COMMAND ARG...` at the two dashes.
 *
 * The parser drops the dashes, so the names end where the number of words after `--` in `words` begins. A word of the
 * command must not replace a missing name: two jobs with an unset variable as the name would run at once. Throws a
 * usage error without a name or a command.
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

/** As {@link operandsOf}, for a verb that takes a single name. */
export function operandsOfOne(
  verb: string,
  words: readonly string[],
  operands: readonly string[],
): { readonly name: string; readonly command: readonly string[] } {
  const { names, command } = operandsOf(verb, words, operands);
  const [name = "", ...others] = names;
  if (others.length === 0) return { name, command };
  throw usageError(
    `${verb} takes a single name, but ${names.length} names are before the two dashes. Give one name.`,
  );
}

/** Options whose value may be empty. */
const MAY_BE_EMPTY: readonly string[] = ["data", "prefix"];

/**
 * Refuses an empty value on the command line; and two dashes, or an option of the command, as the value of an option, unless
 * they are in one word with the option. Throws a usage error.
 *
 * The value is missing, as with an unset variable. Without quotes, the parser took the next word as the value.
 */
export function refuseMissingValues(command: Command, words: readonly string[]): void {
  const isOption = (value: unknown): boolean =>
    value === "--" ||
    command.options.some(({ long }) => value === long || String(value).startsWith(`${long}=`));
  const isMeant = (option: string, value: unknown): boolean =>
    command.options.some(
      (one) => one.attributeName() === option && words.includes(`${one.long}=${value}`),
    );
  for (const [option, given] of Object.entries(command.opts())) {
    const isTyped = command.getOptionValueSource(option) === "cli";
    if (given === "" && isTyped && !MAY_BE_EMPTY.includes(option)) {
      throw usageError(
        `The option "${option}" has an empty value. Give one, or leave the option out; is a variable unset?`,
      );
    }
    const values: unknown[] = Array.isArray(given) ? given : [given];
    const next = values.find((value) => isOption(value) && !isMeant(option, value));
    if (next === undefined) continue;
    const what = next === "--" ? "the two dashes" : next;
    throw usageError(`The option "${option}" has no value before ${what}.`);
  }
}
