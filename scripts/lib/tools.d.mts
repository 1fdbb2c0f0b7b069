/** Installs the dependencies of a folder of the checkout, unless they are there. Returns the folder's path. */
export function installTools(name: string): string;

/** The path of a tool's command, installed by `installTools(name)`. */
export function toolCommand(name: string, command: string): string;
