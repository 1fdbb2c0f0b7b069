// Whether `npm run typecheck` would refuse a mutant: a check before any test.
import { readFileSync } from "node:fs";
import { join } from "node:path";
import ts from "typescript";

let service;
const mutated = new Map();

/** Returns the mutants which do not compile. Each is `{ file, mutated }`, the file's whole text. */
export function refusedByCompiler(root, mutants) {
  service ??= serviceOf(root);
  return new Set(
    mutants.filter(({ file, mutated: text }) => {
      const path = join(root, file);
      mutated.set(path, { text, version: (mutated.get(path)?.version ?? 0) + 1 });
      const errors = [
        ...service.getSyntacticDiagnostics(path),
        ...service.getSemanticDiagnostics(path),
      ];
      const version = mutated.get(path).version + 1;
      mutated.set(path, { text: readFileSync(path, "utf8"), version });
      return errors.length > 0;
    }),
  );
}

function serviceOf(root) {
  const config = ts.readConfigFile(join(root, "tsconfig.json"), ts.sys.readFile).config;
  const { options } = ts.parseJsonConfigFileContent(
    { ...config, include: ["packages/*/src"] },
    ts.sys,
    root,
  );
  const names = ts.sys.readDirectory(
    join(root, "packages"),
    [".ts"],
    ["**/dist", "**/test", "**/page"],
  );
  return ts.createLanguageService({
    // `if (false)` is refused as unreachable code, and leaves names unused: no error of a person.
    getCompilationSettings: () => ({
      ...options,
      allowUnreachableCode: true,
      noUnusedLocals: false,
      noUnusedParameters: false,
    }),
    getScriptFileNames: () => names,
    getScriptVersion: (path) => String(mutated.get(path)?.version ?? 0),
    getScriptSnapshot: (path) => {
      const text = mutated.get(path)?.text ?? ts.sys.readFile(path);
      return text === undefined ? undefined : ts.ScriptSnapshot.fromString(text);
    },
    getCurrentDirectory: () => root,
    getDefaultLibFileName: ts.getDefaultLibFilePath,
    fileExists: ts.sys.fileExists,
    readFile: ts.sys.readFile,
    readDirectory: ts.sys.readDirectory,
    directoryExists: ts.sys.directoryExists,
    getDirectories: ts.sys.getDirectories,
  });
}
