import { relative, resolve } from "node:path";
import { fileURLToPath } from "node:url";
import { defineConfig, type Plugin } from "vitest/config";
import { COMMON, ON_SOURCES } from "../../vitest.config.js";

// Runs tests with a different SDK, or with a different build of the whole library:
//   HOLDFAST_SDK     a folder whose node_modules have another version of the SDK (scripts/other-sdks.mjs)
//   HOLDFAST_BUNDLE  a folder with every source, and the SDK, minified (scripts/minified.mjs)
const ROOT = resolve(fileURLToPath(new URL("../..", import.meta.url)));
const SDK = /^@aws-sdk\/(client-dynamodb|lib-dynamodb|client-s3)$/;

function inPlaceOf(): Plugin {
  const sdk = process.env["HOLDFAST_SDK"];
  const bundle = process.env["HOLDFAST_BUNDLE"];
  if ((sdk === undefined) === (bundle === undefined)) {
    throw new Error("Set HOLDFAST_SDK or HOLDFAST_BUNDLE: see scripts/.");
  }
  return {
    name: "holdfast-variant",
    enforce: "pre",
    resolveId(id, importer) {
      const name = SDK.exec(id)?.[1];
      if (name !== undefined) {
        return sdk === undefined
          ? { id: `${bundle}/sdk/${name}.mjs`, external: true }
          : this.resolve(id, `${sdk}/index.js`, { skipSelf: true });
      }
      if (bundle === undefined || importer === undefined || !id.startsWith(".")) return null;
      const path = resolve(importer, "..", id);
      const source = /^([\w-]+\/src\/.*)\.[jt]s$/.exec(relative(`${ROOT}/packages`, path))?.[1];
      return source === undefined ? null : { id: `${bundle}/${source}.mjs`, external: true };
    },
  };
}

export default defineConfig({
  ...ON_SOURCES,
  root: ROOT,
  plugins: [inPlaceOf()],
  test: { ...COMMON, env: { HOLDFAST_TESTS: "long" } },
});
