// The public surface as text, as a user's compiler sees the package: a report for each subpath.
import {
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  symlinkSync,
  writeFileSync,
} from "node:fs";
import { basename, join } from "node:path";
import { Extractor, ExtractorConfig } from "@microsoft/api-extractor";
import { packages, ROOT } from "../lib/entries.mjs";

// In the checkout, so that dependencies are found as from dist.
const TEMPORARY = join(ROOT, ".tmp");
const { compilerOptions } = JSON.parse(readFileSync(join(ROOT, "tsconfig.json"), "utf8"));

/**
 * Copies the declarations to a package beside the others. Imports from `holdfast` then come from another package
 * and stay out of the report. Inside the package, the compiler would include them.
 */
function prepare(from, folder) {
  cpSync(join(ROOT, from, "dist"), join(folder, "dist"), { recursive: true });
  writeFileSync(join(folder, "package.json"), '{ "name": "declarations", "type": "module" }');
  mkdirSync(join(folder, "node_modules/@holdfast"), { recursive: true });
  for (const one of packages) {
    symlinkSync(join(ROOT, one.folder), join(folder, "node_modules", one.manifest.name), "dir");
  }
}

function extract(one, folder) {
  prepare(one.folder, folder);
  const report = basename(one.report);
  const declarations = one.declarations.slice(one.folder.length + 1);
  const config = ExtractorConfig.prepare({
    packageJsonFullPath: join(ROOT, one.folder, "package.json"),
    configObjectFullPath: undefined,
    configObject: {
      projectFolder: folder,
      mainEntryPointFilePath: join(folder, declarations),
      compiler: { overrideTsconfig: { compilerOptions, files: [declarations] } },
      apiReport: {
        enabled: true,
        // A type without an exported name still changes the surface that a user sees.
        includeForgottenExports: true,
        reportFileName: report,
        reportFolder: folder,
        reportTempFolder: join(folder, "temp"),
      },
      docModel: { enabled: false },
      dtsRollup: { enabled: false },
      tsdocMetadata: { enabled: false },
      newlineKind: "lf",
    },
  });
  const errors = [];
  Extractor.invoke(config, {
    localBuild: true,
    messageCallback: (message) => {
      if (message.logLevel === "error") errors.push(message.text);
      // Release tags and the like are another house's rules; this house's are in test/house.
      message.logLevel = "none";
    },
  });
  if (errors.length > 0) throw new Error(`${report}: ${errors.join("\n")}`);
  return readFileSync(join(folder, report), "utf8");
}

/** The report of a subpath, from the declarations of the last build. */
export function apiReport(one) {
  if (!existsSync(join(ROOT, one.declarations))) {
    throw new Error(`${one.declarations} is missing: run \`npm run build\`.`);
  }
  mkdirSync(TEMPORARY, { recursive: true });
  const folder = mkdtempSync(join(TEMPORARY, "api-"));
  try {
    return extract(one, folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
