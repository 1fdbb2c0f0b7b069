/** `holdfast complete`: scripts for shells, and the words that the scripts ask for. */
import type { Command, Option } from "commander";
import { EXIT, usageError } from "./output/exit-codes.js";
import type { Output } from "./output/output.js";

// Each script calls `holdfast complete -- WORD...` with the words up to the cursor, and gets lines of a word, a
// space and a description. Without a line, the shell completes names of files, such as the command after `--`.
const SCRIPTS = {
  bash: `_holdfast() {
  local IFS=$'\\n'
  COMPREPLY=($(holdfast complete -- "\${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null | cut -d' ' -f1))
}
complete -o default -F _holdfast holdfast`,
  zsh: `#compdef holdfast
_holdfast() {
  local line
  local -a found
  for line in "\${(@f)$(holdfast complete -- "\${(@)words[2,CURRENT]}" 2>/dev/null)}"; do
    [[ -n $line ]] && found+=("\${\${line%% *}//:/\\\\:}:\${line#* }")
  done
  if (( \${#found} )); then _describe holdfast found; else _files; fi
}
if [[ $funcstack[1] == _holdfast ]]; then _holdfast; else compdef _holdfast holdfast; fi`,
  fish: `complete -c holdfast -n 'not contains -- -- (commandline -opc)' -f \\
  -a '(holdfast complete -- (commandline -opc)[2..-1] (commandline -ct) 2>/dev/null | string replace " " \\t)'`,
};

/**
 * Runs `holdfast complete`. With the name of a shell, prints the script for this shell. With `--` and the words of a
 * command line up to the cursor, prints the candidates for the last word.
 */
export function complete(program: Command, words: readonly string[], output: Output): number {
  const [first = "", ...rest] = words;
  if (first === "--") {
    for (const { word, description } of candidatesOf(program, rest)) {
      output.out(`${word} ${description}`);
    }
    return EXIT.ok;
  }
  if (!Object.hasOwn(SCRIPTS, first) || rest.length > 0) {
    const shells = Object.keys(SCRIPTS).join(", ");
    throw usageError(
      `The name of the shell is missing or unknown: give one of ${shells}. See \`holdfast complete --help\`.`,
    );
  }
  output.out(SCRIPTS[first as keyof typeof SCRIPTS]);
  return EXIT.ok;
}

/** A candidate for the last word, with its description for people. */
export interface Candidate {
  readonly word: string;
  readonly description: string;
}

/** The candidates for the last of the words, which may be empty. Pure. */
export function candidatesOf(program: Command, words: readonly string[]): Candidate[] {
  // Bash splits --kind=lock in three.
  const typed = words.filter((word, at) => word !== "=" || at === words.length - 1);
  const last = typed.at(-1) === "=" ? "" : (typed.at(-1) ?? "");
  const earlier = typed.slice(0, -1);
  if (earlier.includes("--")) return [];
  const { command, awaiting } = placeAfter(program, earlier);
  const [name = "", value] = last.split("=", 2);
  const assigned = value === undefined ? undefined : optionOf(command, name);
  if (assigned !== undefined) {
    return choicesOf(assigned, value ?? "").map(({ word }) => ({
      word: `${name}=${word}`,
      description: "",
    }));
  }
  if (awaiting !== undefined) return choicesOf(awaiting, last);
  const all = last.startsWith("-") ? optionsOf(command) : operandsOf(command);
  return all.filter(({ word }) => word.startsWith(last));
}

/** Returns the command that the words name, and the option that still needs a value. */
function placeAfter(program: Command, words: readonly string[]) {
  let command = program;
  let awaiting: Option | undefined;
  for (const word of words) {
    if (awaiting !== undefined) awaiting = undefined;
    else if (word.startsWith("-")) awaiting = needsValue(optionOf(command, word));
    else command = command.commands.find((each) => each.name() === word) ?? command;
  }
  return { command, awaiting };
}

function optionOf(command: Command, word: string): Option | undefined {
  return command.options.find(({ long, short }) => word === long || word === short);
}

function needsValue(option: Option | undefined): Option | undefined {
  return option?.required ? option : undefined;
}

function choicesOf({ argChoices = [] }: Option, start: string): Candidate[] {
  return argChoices
    .filter((choice) => choice.startsWith(start))
    .map((word) => ({ word, description: "" }));
}

function optionsOf(command: Command): Candidate[] {
  return command
    .createHelp()
    .visibleOptions(command)
    .flatMap(({ long, description }) => (long ? [{ word: long, description }] : []));
}

function operandsOf(command: Command): Candidate[] {
  const commands = command.createHelp().visibleCommands(command);
  const choices = command.registeredArguments.flatMap(({ argChoices = [] }) => argChoices);
  return [
    ...commands.map((each) => ({ word: each.name(), description: each.description() })),
    ...choices.map((word) => ({ word, description: "" })),
  ];
}
