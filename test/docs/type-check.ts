import { join } from "node:path";
import { fileURLToPath } from "node:url";
import ts from "typescript";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** A piece of TypeScript, and its path as a file in the repository. */
export interface Source {
  readonly path: string;
  readonly text: string;
}

function options(): ts.CompilerOptions {
  const path = join(ROOT, "tsconfig.json");
  const { config } = ts.readConfigFile(path, ts.sys.readFile);
  const { options } = ts.parseJsonConfigFileContent(config, ts.sys, ROOT);
  // A document may show an unused value. Without `paths`, the names of the packages lead to the build.
  return {
    ...options,
    paths: {},
    noEmit: true,
    noUnusedLocals: false,
    noUnusedParameters: false,
    // Nest's decorators.
    experimentalDecorators: true,
  };
}

/**
 * Returns the type errors of these sources, with the repository's own settings, against the built package,
 * which the sources import by name.
 */
export function typeErrorsOf(sources: readonly Source[]): string[] {
  const texts = new Map(sources.map(({ path, text }) => [join(ROOT, path), text]));
  const settings = options();
  const host = ts.createCompilerHost(settings);
  const { fileExists, getSourceFile, readFile } = host;
  host.fileExists = (path) => texts.has(path) || fileExists(path);
  host.readFile = (path) => texts.get(path) ?? readFile(path);
  host.getSourceFile = (path, version, ...rest) => {
    const text = texts.get(path);
    return text === undefined
      ? getSourceFile(path, version, ...rest)
      : ts.createSourceFile(path, text, version, true);
  };
  const program = ts.createProgram([...texts.keys()], settings, host);
  return ts.getPreEmitDiagnostics(program).map((diagnostic) => {
    const message = ts.flattenDiagnosticMessageText(diagnostic.messageText, "\n");
    const { file, start = 0 } = diagnostic;
    if (file === undefined) return message;
    const line = file.getLineAndCharacterOfPosition(start).line + 1;
    return `${file.fileName.slice(ROOT.length)}:${line}: ${message}`;
  });
}
