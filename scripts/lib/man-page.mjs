// Makes the manual page of the command line from the help of each command, so that both always agree.

/** The help of a command, with the text that follows it. */
function helpOf(command) {
  const parts = [];
  command.configureOutput({
    writeOut: (text) => parts.push(text),
    getOutHelpWidth: () => 78,
    getOutHasColors: () => false,
  });
  command.outputHelp();
  return parts.join("").trim();
}

/** A command and those below it, with their full names. */
function commandsOf(command, path = [command.name()]) {
  const below = command.commands.flatMap((each) => commandsOf(each, [...path, each.name()]));
  return [{ name: path.join(" "), help: helpOf(command) }, ...below];
}

// To man, a line that begins with a dot or an apostrophe is an instruction, and a bare hyphen is a typographic one.
const escaped = (text) =>
  text
    .replaceAll("\\", "\\e")
    .replaceAll("-", "\\-")
    .replace(/^(?=[.'])/gm, "\\&");

const verbatim = (text) => `.nf\n${escaped(text)}\n.fi`;

/** The page, in the language of man. */
export function manPage(program, version) {
  const [whole, ...commands] = commandsOf(program);
  return [
    `.TH HOLDFAST 1 "" "holdfast ${version}" "Holdfast"`,
    `.SH NAME\nholdfast \\- ${escaped(program.description())}`,
    `.SH SYNOPSIS\n.B holdfast\n.I command\n[options]`,
    `.SH DESCRIPTION\n${verbatim(whole.help)}`,
    ".SH COMMANDS",
    ...commands.map(({ name, help }) => `.SS "${escaped(name)}"\n${verbatim(help)}`),
    "",
  ].join("\n");
}
