// Tries the package with the oldest and the newest SDK of its peer range: npm run test:sdks, which builds
// first. A real install of the tarball, so that npm too must find the range satisfied.
import { copyFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import {
  attempt,
  cacheFolder,
  finish,
  install,
  MANIFEST,
  outputOf,
  pack,
  ROOT,
  run,
} from "./lib/projects.mjs";

const SDK = "@aws-sdk/client-dynamodb";

// Before it, UpdateItem could not ask for the item that refused a write, on which every grant rests.
const oldest = /^>=(\d+\.\d+\.\d+) /.exec(MANIFEST.peerDependencies[SDK])?.[1];
const newest = MANIFEST.devDependencies[SDK];

/** A project with the packed package and this SDK. */
function projectWith(version) {
  const folder = cacheFolder(`sdk-${version}`);
  install(folder, [`${SDK}@${version}`, `@aws-sdk/lib-dynamodb@${version}`, pack(folder)]);
  copyFileSync(join(ROOT, "test", "package", "smoke.mjs"), join(folder, "smoke.mjs"));
  // Whence the tests' configuration resolves the SDK.
  writeFileSync(join(folder, "index.js"), "");
  return folder;
}

function checkCommand(folder) {
  const bin = join(folder, "node_modules", ".bin", "holdfast");
  const said = outputOf(bin, ["--version"], { cwd: folder }).trim();
  if (said !== MANIFEST.version) throw new Error(`holdfast --version says ${said}`);
}

function testAgainst(folder, version) {
  run(
    join(ROOT, "node_modules", ".bin", "vitest"),
    ["run", "--config", "test/package/variants.config.ts", "test/package/adapter.test.ts"],
    { cwd: ROOT, env: { ...process.env, HOLDFAST_SDK: folder, HOLDFAST_SDK_VERSION: version } },
  );
}

const results = [];
for (const version of [oldest, newest]) {
  let folder;
  results.push(
    await attempt(`SDK ${version}: install`, () => {
      folder = projectWith(version);
    }),
  );
  if (folder === undefined) continue;
  results.push(
    await attempt(`SDK ${version}: smoke`, () => run("node", ["smoke.mjs"], { cwd: folder })),
    await attempt(`SDK ${version}: command`, () => checkCommand(folder)),
    await attempt(`SDK ${version}: adapter`, () => testAgainst(folder, version)),
  );
}
finish(results);
