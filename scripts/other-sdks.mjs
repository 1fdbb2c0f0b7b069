// Tests the packages with the oldest and the newest SDK of their peer range: node scripts/other-sdks.mjs, which builds
// first. Installs the real tarballs, so that npm too checks the range.
import { copyFileSync, existsSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  attempt,
  cacheFolder,
  finish,
  install,
  MANIFEST,
  outputOf,
  packAll,
  packages,
  ROOT,
  run,
  TOOLS,
} from "./lib/projects.mjs";
import { built } from "./lib/ready.mjs";

await built();

const SDK = "@aws-sdk/client-dynamodb";
const S3 = "@aws-sdk/client-s3";
const USE_S3 = ["@holdfast/object-commit", "@holdfast/cli"];

// Older SDKs could not ask for the item that refused an UpdateItem, and every grant needs this item.
const oldest = /^>=(\d+\.\d+\.\d+) /.exec(MANIFEST.peerDependencies[SDK])?.[1];
const newest = TOOLS[SDK];

/** A project with the packed packages and this SDK. */
function projectWith(version) {
  const folder = cacheFolder(`sdk-${version}`);
  const sdk = [SDK, "@aws-sdk/lib-dynamodb", S3].map((name) => `${name}@${version}`);
  install(folder, [...sdk, ...packAll(folder)]);
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
    [
      "run",
      "--config",
      "test/package/variants.config.ts",
      "test/package/adapter.test.ts",
      "test/package/lean.test.ts",
      "test/package/object-adapter.test.ts",
    ],
    { cwd: ROOT, env: { ...process.env, HOLDFAST_SDK: folder, HOLDFAST_SDK_VERSION: version } },
  );
}

/** A user of `holdfast` needs no client of object stores. */
function tryWithoutS3() {
  // Outside the checkout: below the checkout Node would find the client of the tests.
  const folder = mkdtempSync(join(tmpdir(), "holdfast-without-s3-"));
  try {
    tryWithoutS3In(folder);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

function tryWithoutS3In(folder) {
  const ours = packAll(folder).filter((_, at) => !USE_S3.includes(packages[at].manifest.name));
  install(folder, [`${SDK}@${newest}`, `@aws-sdk/lib-dynamodb@${newest}`, ...ours]);
  if (existsSync(join(folder, "node_modules", S3))) throw new Error(`${S3} is there.`);
  copyFileSync(join(ROOT, "test", "package", "smoke.mjs"), join(folder, "smoke.mjs"));
  run("node", ["smoke.mjs"], { cwd: folder });
}

const results = [await attempt(`without ${S3}`, tryWithoutS3)];
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
