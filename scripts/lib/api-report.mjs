// The public surface as text: what a user's compiler sees, one report for each subpath of the package.
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { fileURLToPath } from "node:url";
import { Extractor, ExtractorConfig } from "@microsoft/api-extractor";

const ROOT = fileURLToPath(new URL("../..", import.meta.url));

/** The subpaths that have types, each with its report's name and the declarations that the build makes. */
export function subpaths() {
  const { exports } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8"));
  return Object.entries(exports)
    .filter(([, target]) => typeof target === "object")
    .map(([subpath, target]) => ({
      subpath,
      report: subpath === "." ? "holdfast.api.md" : `holdfast-${basename(subpath)}.api.md`,
      declarations: join(ROOT, target.types),
    }));
}

function extract({ report, declarations }, folder) {
  const config = ExtractorConfig.prepare({
    packageJsonFullPath: join(ROOT, "package.json"),
    configObjectFullPath: undefined,
    configObject: {
      projectFolder: ROOT,
      mainEntryPointFilePath: declarations,
      compiler: { tsconfigFilePath: join(ROOT, "tsconfig.build.json") },
      apiReport: {
        enabled: true,
        // A type that a user meets but cannot import by name changes the surface all the same.
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

/** The report of one subpath, from the declarations of the last build. */
export function apiReport(one) {
  if (!existsSync(one.declarations)) {
    throw new Error(`${one.declarations} is not there: run \`npm run build\`.`);
  }
  const folder = mkdtempSync(join(tmpdir(), "holdfast-api-"));
  try {
    return extract(one, folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
