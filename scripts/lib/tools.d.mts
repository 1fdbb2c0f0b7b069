/** Installs the dependencies of a folder of the checkout, unless they are there. Returns the folder's path. */
export function installTools(name: string): string;

/** The path of a tool's command: of the checkout, or, if `folder` is given, installed by `installTools(folder)`. */
export function toolCommand(command: string, folder?: string): string;
