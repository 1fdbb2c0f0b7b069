// Builds dist: npm run build. The library is a single build whose entries share chunks, so that a class is the
// same class through every entry; the declarations are bundled in the same way. Each program of the command
// line is a separate build, which uses the library as a user would. With --without-types it leaves the declarations
// out, which take most of the time and which the demo does not need. If dist is up to date, it does nothing, except
// with --force.
import {
  copyFileSync,
  existsSync,
  readdirSync,
  readFileSync,
  rmSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { basename, dirname, join, relative, sep } from "node:path";
import { pathToFileURL } from "node:url";
import { rolldown } from "rolldown";
import { rollup } from "rollup";
import { dts } from "rollup-plugin-dts";
import { isBuilt, noteBuilt } from "./lib/build-stamp.mjs";
import { MANIFEST, programs, ROOT, STARTED_FILE, subpaths } from "./lib/entries.mjs";
import { manPage } from "./lib/man-page.mjs";
import { thirdPartyNotices } from "./lib/third-party.mjs";

const DIST = join(ROOT, "dist");
const withTypes = !process.argv.includes("--without-types");
const TSCONFIG = join(ROOT, "tsconfig.build.json");

// prom-client uses it only for exemplars, which we leave out; the command must not need the peer.
const UNUSED_BY_PROM_CLIENT = "@opentelemetry/api";
const isUnused = (id, importer) =>
  id === UNUSED_BY_PROM_CLIENT && /[\\/]prom-client[\\/]/.test(importer ?? "");

// Peer dependencies stay outside. The few other small packages are bundled: finding and linking them took a
// third of the time of an import, and a package without dependencies adds no further packages to trust.
const isExternal = (id, importer) =>
  id.startsWith("node:") || (id in MANIFEST.peerDependencies && !isUnused(id, importer));

const shown = (path) => relative(ROOT, path).split(sep).join("/");
const nameOf = (source) => source.replace(/^src\/(.*)\.ts$/, "$1");
const entriesOf = (sources) =>
  Object.fromEntries(sources.map((source) => [nameOf(source), join(ROOT, source)]));

/** Bundles these sources, each to its place below src, and shared code to chunks. */
async function bundle(sources, { chunkFileNames, leastChunkBytes, sourcemap }) {
  const build = await rolldown({
    cwd: ROOT,
    input: entriesOf(sources),
    platform: "node",
    // What a chunk of its own for the SDK needs; Rolldown would choose it, with a warning.
    preserveEntrySignatures: "allow-extension",
    external: isExternal,
    plugins: [importThePackage(), withoutUnusedPeer()],
    tsconfig: TSCONFIG,
    transform: { target: "node22.12" },
  });
  const shared = {
    name: "shared",
    minShareCount: 2,
    entriesAware: true,
    entriesAwareMergeThreshold: leastChunkBytes,
  };
  const apart = (name, test, priority) => {
    return { name, test, priority, includeDependenciesRecursively: false, minShareCount: 2 };
  };
  const groups = [
    // A bundler without chunks keeps all of the chunks that a dynamic import reaches. A thread's start reaches these two.
    apart("endpoint", /src[/]platform[/]dynamodb[/]endpoint\.ts$/, 4),
    apart(
      "internal",
      /src[/](?:errors|internal[/](?:printed|shown|option-names|cause-text))\.ts$/,
      3,
    ),
    // Whatever shares a chunk with these modules loads the SDK, and help must not wait for it.
    apart("dynamodb", /src[/]platform[/]dynamodb[/](?:sdk|table)\.ts$/, 2),
    apart(
      "platform",
      /src[/](?:formats|internal|platform(?![/]s3))[/].*\.ts$|node_modules[/]ms[/]/,
      1,
    ),
    shared,
  ];
  const { output } = await build.write({
    dir: DIST,
    format: "esm",
    sourcemap,
    entryFileNames: "[name].js",
    chunkFileNames,
    codeSplitting: { groups: leastChunkBytes > 0 ? groups : [shared] },
    // Comments are in the declarations and, with the whole source, in the source maps: code without comments
    // loads faster.
    comments: { jsdoc: false },
  });
  await build.close();
  return output.filter(({ type }) => type === "chunk");
}

// Few chunks, since each file takes a third of a millisecond of every import.
const LIBRARY = { chunkFileNames: sharedName, leastChunkBytes: 200_000, sourcemap: true };
// No merging: help and the version must not wait for the SDK, nor fail without the SDK.
const PROGRAM = { chunkFileNames: nameInProgram, leastChunkBytes: 0, sourcemap: false };

/**
 * The file of a worker thread, which shares no module with the program. Chunks shared with this file would be two more
 * files for every `import "holdfast"`.
 */
const THREAD = "packages/holdfast/src/thread/run.ts";

/** Names a chunk after its largest folder of src, for readable stack traces. */
function sharedName({ moduleIds, name }) {
  // The bundler's own helpers are in no folder of src: their second part is a file.
  const folders = moduleIds.map((id) => shown(id).split("/")[1]?.replace(/\.js$/, ""));
  const count = (folder) => folders.filter((one) => one === folder).length;
  return `shared/${folders.toSorted((a, b) => count(b) - count(a))[0] ?? name}.js`;
}

/** A module loaded later keeps its place, because the module may start files beside it. */
function nameInProgram({ facadeModuleId, isDynamicEntry, moduleIds, name }) {
  if (isDynamicEntry && facadeModuleId) return `${nameOf(shown(facadeModuleId))}.js`;
  const last = moduleIds.at(-1);
  return `cli/${basename(last ?? name).replace(/\.[jt]s$/, "")}.js`;
}

/**
 * Turns an import of a subpath's source into an import of the package: `holdfast/nestjs` then refers to the
 * `Holdfast` of `holdfast`, without a copy.
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

/** Lets prom-client be bundled without the peer that it does not use. */
function withoutUnusedPeer() {
  const empty = "\0unused-peer";
  return {
    name: "without-unused-peer",
    resolveId: (specifier, importer) => (isUnused(specifier, importer) ? empty : null),
    load: (id) => (id === empty ? "export {};" : null),
  };
}

const PAGE = "cli/serve/page";

/** Bundles the page of `holdfast serve` for browsers. Only the command line's part of the package has the page. */
async function bundlePage() {
  const build = await rolldown({
    cwd: ROOT,
    input: { page: join(ROOT, "src", PAGE, "page.tsx") },
    platform: "browser",
    tsconfig: join(ROOT, "src", PAGE, "tsconfig.json"),
    transform: { target: "es2022" },
  });
  const { output } = await build.write({
    dir: join(DIST, PAGE),
    format: "esm",
    entryFileNames: "[name].js",
    minify: true,
  });
  await build.close();
  for (const file of ["index.html", "page.css"]) {
    copyFileSync(join(ROOT, "src", PAGE, file), join(DIST, PAGE, file));
  }
  return output.filter(({ type }) => type === "chunk");
}

// The code of the smallest entries is readable without a map, and each map is another file in the package.
const LEAST_MAPPED_BYTES = 6_000;

function dropSmallMap({ fileName, code }) {
  const path = join(DIST, fileName);
  if (code.length >= LEAST_MAPPED_BYTES || !existsSync(`${path}.map`)) return;
  rmSync(`${path}.map`);
  const text = readFileSync(path, "utf8");
  writeFileSync(path, text.replace(/\n?\/\/# sourceMappingURL=\S+\s*$/, "\n"));
}

/** Fails if a program would start a file that is missing, because the code has moved to another folder. */
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
    // Types without an exported name are listed in packages/holdfast/api/, where each is a decision.
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

/** The entries above a module of declarations; modules shared by all entries form one chunk at no cost. */
function entriesAbove(id, modules, seen = new Set()) {
  if (seen.has(id)) return new Set();
  seen.add(id);
  const { isEntry, importers } = modules.getModuleInfo(id);
  const above = importers.flatMap((one) => [...entriesAbove(one, modules, seen)]);
  return new Set(isEntry ? [id, ...above] : above);
}

async function buildAll() {
  // A file removed from src must also leave dist, or the next release would publish the file.
  rmSync(DIST, { recursive: true, force: true });
  const sources = subpaths.map(({ source }) => source);
  const chunks = await bundle(sources, LIBRARY);
  chunks.forEach(dropSmallMap);
  // A program in a single file needs no further files at its start.
  for (const program of [THREAD, ...programs]) chunks.push(...(await bundle([program], PROGRAM)));
  chunks.push(...(await bundlePage()));
  chunks.forEach(checkStartedFiles);
  writeFileSync(
    join(DIST, "THIRD-PARTY.txt"),
    thirdPartyNotices(chunks.flatMap(({ moduleIds }) => moduleIds)),
  );
  const { programOf } = await import(pathToFileURL(join(DIST, "cli", "program.js")).href);
  const grammar = programOf([], () => undefined);
  writeFileSync(join(DIST, "holdfast.1"), manPage(grammar, MANIFEST.version));
  if (withTypes) await rollUpDeclarations(sources);
}

const variant = withTypes ? "with types" : "without types";
const isFresh = isBuilt(variant) || isBuilt("with types");
if (isFresh && !process.argv.includes("--force")) {
  // Tests compare the time of the build with those of the sources, which git may have written anew.
  for (const path of readdirSync(DIST, { recursive: true })) {
    utimesSync(join(DIST, path), new Date(), new Date());
  }
} else {
  await buildAll();
  noteBuilt(variant);
}
