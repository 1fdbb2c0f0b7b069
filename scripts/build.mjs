// Builds dist: npm run build. The library is one build, in which entries share chunks, so that a class is the same
// class whichever entry it came from; its declarations are rolled up the same way. Each program of the command line
// is a build of its own, which uses the library as a user would.
import { existsSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join, relative, sep } from "node:path";
import { rolldown } from "rolldown";
import { rollup } from "rollup";
import { dts } from "rollup-plugin-dts";
import { MANIFEST, programs, ROOT, STARTED_FILE, subpaths } from "./lib/entries.mjs";
import { thirdPartyNotices } from "./lib/third-party.mjs";

const DIST = join(ROOT, "dist");
const TSCONFIG = join(ROOT, "tsconfig.build.json");

// Peers stay outside. The few small packages that the code needs besides come in: to find and link them took a third
// of the time of an import, and a package without dependencies brings its users no others to trust.
const isExternal = (id) => id.startsWith("node:") || id in MANIFEST.peerDependencies;

const shown = (path) => relative(ROOT, path).split(sep).join("/");
const nameOf = (source) => source.replace(/^src\/(.*)\.ts$/, "$1");
const entriesOf = (sources) =>
  Object.fromEntries(sources.map((source) => [nameOf(source), join(ROOT, source)]));

/** Bundles these sources, each into the place that it has below src, and what they share into chunks. */
async function bundle(sources, { chunkFileNames, leastChunkBytes, sourcemap }) {
  const build = await rolldown({
    cwd: ROOT,
    input: entriesOf(sources),
    platform: "node",
    external: isExternal,
    plugins: [importThePackage()],
    tsconfig: TSCONFIG,
    transform: { target: "node20.19" },
  });
  const shared = {
    name: "shared",
    minShareCount: 2,
    entriesAware: true,
    entriesAwareMergeThreshold: leastChunkBytes,
  };
  const { output } = await build.write({
    dir: DIST,
    format: "esm",
    sourcemap,
    entryFileNames: "[name].js",
    chunkFileNames,
    codeSplitting: { groups: [shared] },
    // They are in the declarations, and with the whole source in the source maps: code loads faster without.
    comments: { jsdoc: false },
  });
  await build.close();
  return output.filter(({ type }) => type === "chunk");
}

const LIBRARY = { chunkFileNames: sharedName, leastChunkBytes: 20_000, sourcemap: true };
// Nothing is merged: help and the version must not wait for the SDK, nor fail where it is missing.
const PROGRAM = { chunkFileNames: nameInProgram, leastChunkBytes: 0, sourcemap: false };

/** A chunk is named after its largest folder of src, so that a stack trace says something. */
function sharedName({ moduleIds, name }) {
  const folders = moduleIds.map((id) => shown(id).split("/")[1]);
  const count = (folder) => folders.filter((one) => one === folder).length;
  return `shared/${folders.toSorted((a, b) => count(b) - count(a))[0] ?? name}.js`;
}

/** What is loaded later keeps its place, since it may start files beside it. */
function nameInProgram({ facadeModuleId, isDynamicEntry, moduleIds, name }) {
  if (isDynamicEntry && facadeModuleId) return `${nameOf(shown(facadeModuleId))}.js`;
  const last = moduleIds.at(-1);
  return `cli/${basename(last ?? name).replace(/\.[jt]s$/, "")}.js`;
}

/**
 * An import of a subpath's source from elsewhere becomes an import of the package: the `Holdfast` of
 * `holdfast/nestjs` is then a reference to the one of `holdfast`, and no copy.
 */
function importThePackage() {
  const names = new Map(
    subpaths.map(({ subpath, source }) => [join(ROOT, source), join(MANIFEST.name, subpath)]),
  );
  return {
    name: "import-the-package",
    async resolveId(specifier, importer) {
      if (importer === undefined || !specifier.startsWith(".")) return null;
      const found = await this.resolve(specifier, importer, { skipSelf: true });
      const id = names.get(found?.id);
      return id === undefined ? null : { id, external: true };
    },
  };
}

/** Fails where a program would look for a file of ours in vain, because its code has moved to another folder. */
function checkStartedFiles({ fileName, code }) {
  for (const [, file] of code.matchAll(STARTED_FILE)) {
    const started = join(DIST, dirname(fileName), `${file}.js`);
    if (!existsSync(started)) throw new Error(`dist/${fileName} starts ${started}: not there.`);
  }
}

async function rollUpDeclarations(sources) {
  const build = await rollup({
    input: entriesOf(sources),
    external: isExternal,
    plugins: [importThePackage(), dts({ tsconfig: TSCONFIG })],
    // Types that users meet without a name to import them by are listed in api/, where each is a decision.
    onwarn: ({ message }) => {
      if (!message.includes("private shared type exports")) console.warn(message);
    },
  });
  await build.write({
    dir: DIST,
    entryFileNames: "[name].d.ts",
    chunkFileNames: "shared/[name].d.ts",
    manualChunks: (id, modules) => (entriesAbove(id, modules).size > 1 ? "declarations" : null),
  });
  await build.close();
}

/** The entries that a module of declarations is part of; all that are shared cost nothing as one chunk. */
function entriesAbove(id, modules, seen = new Set()) {
  if (seen.has(id)) return new Set();
  seen.add(id);
  const { isEntry, importers } = modules.getModuleInfo(id);
  const above = importers.flatMap((one) => [...entriesAbove(one, modules, seen)]);
  return new Set(isEntry ? [id, ...above] : above);
}

// A file removed from src must not live on in dist, where it would still be published.
rmSync(DIST, { recursive: true, force: true });
const library = subpaths.map(({ source }) => source);
const chunks = await bundle(library, LIBRARY);
// A program that is one file misses none when it is started.
for (const program of programs) chunks.push(...(await bundle([program], PROGRAM)));
chunks.forEach(checkStartedFiles);
writeFileSync(
  join(DIST, "THIRD-PARTY.txt"),
  thirdPartyNotices(chunks.flatMap(({ moduleIds }) => moduleIds)),
);
await rollUpDeclarations(library);
