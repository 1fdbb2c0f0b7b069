// Builds the dist of each package: npm run build. The entries of a package are a single build and share chunks, so that a
// class is the same class through every entry; the declarations are bundled in the same way. Each program of the command
// line is a separate build, which uses the other packages as a user would. With --without-types it leaves the declarations
// out, which take most of the time and which the demo does not need. If dist is up to date, it does nothing, except
// with --force.
import {
  copyFileSync,
  existsSync,
  mkdirSync,
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
import { entries, MANIFEST, packages, programs, ROOT, STARTED_FILE } from "./lib/entries.mjs";
import { manPage } from "./lib/man-page.mjs";
import { filesAt, packedText } from "./lib/packed-text.mjs";
import { thirdPartyNotices } from "./lib/third-party.mjs";

const withTypes = !process.argv.includes("--without-types");
const TSCONFIG = join(ROOT, "tsconfig.build.json");

// prom-client uses it only for exemplars, which we leave out; the command must not need the peer.
const UNUSED_BY_PROM_CLIENT = "@opentelemetry/api";
const isUnused = (id, importer) =>
  id === UNUSED_BY_PROM_CLIENT && /[\\/]prom-client[\\/]/.test(importer ?? "");

// What the command line uses of it is bundled, and not imported: help must not wait for the SDK, which the rest loads. The
// diagnosis of an engine needs the SDK.
const BUNDLED_IN_PROGRAMS = "holdfast/internal";
const LOADS_SDK = /[\\/]cli[\\/]src[\\/]engine[\\/]/;

/**
 * Dependencies and peer dependencies stay outside. The few other small packages are bundled: finding and linking them took
 * a third of the time of an import, and a package without dependencies adds no further packages to trust.
 */
function externalsOf({ manifest }) {
  const outside = { ...manifest.dependencies, ...manifest.peerDependencies };
  const isOutside = (id) => (/^(?:@[^/]+\/)?[^/]+/.exec(id)?.[0] ?? "") in outside;
  return (id, importer) => {
    if (manifest.bin !== undefined && id === BUNDLED_IN_PROGRAMS) return LOADS_SDK.test(importer);
    return id.startsWith("node:") || (isOutside(id) && !isUnused(id, importer));
  };
}

const shown = (path) => relative(ROOT, path).split(sep).join("/");
const nameOf = (source) => source.replace(/^packages\/[^/]+\/src\/(.*)\.ts$/, "$1");
const inputOf = (sources) =>
  Object.fromEntries(sources.map((source) => [nameOf(source), join(ROOT, source)]));
const distOf = ({ folder }) => join(ROOT, folder, "dist");

/** Bundles these sources of a package, each to its place below src, and shared code to chunks. */
async function bundle(one, sources, { chunkFileNames, leastChunkBytes, sourcemap }) {
  const build = await rolldown({
    cwd: ROOT,
    input: inputOf(sources),
    platform: "node",
    // What a chunk of its own for the SDK needs; Rolldown would choose it, with a warning.
    preserveEntrySignatures: "allow-extension",
    external: externalsOf(one),
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
    apart("endpoint", /src[/]platform[/]dynamodb[/](?:endpoint|protocol)\.ts$/, 4),
    apart(
      "internal",
      /src[/](?:errors|internal[/](?:printed|shown|option-names|cause-text|value-text))\.ts$/,
      3,
    ),
    // Whatever shares a chunk with these modules loads the SDK, and help must not wait for it.
    apart("dynamodb", /src[/]platform[/]dynamodb[/](?:sdk|table)\.ts$/, 2),
    apart(
      "platform",
      /src[/](?:native|internal|platform(?![/]s3))[/].*\.ts$|node_modules[/]ms[/]/,
      1,
    ),
    // By layers, of which none imports one above it: chunks chosen by size alone can import each other.
    apart(
      "core",
      /holdfast[/]src[/](?:core[/].*|client|client-options|table[/]schema)\.ts$|node_modules[/]tinyqueue[/]/,
      0.5,
    ),
    apart("locks", /holdfast[/]src[/]locks[/].*\.ts$/, 0.4),
    shared,
  ];
  const { output } = await build.write({
    dir: distOf(one),
    format: "esm",
    sourcemap,
    entryFileNames: "[name].js",
    chunkFileNames,
    codeSplitting: {
      groups: leastChunkBytes > 0 && sources.length > 1 ? groups : [shared],
    },
    // Comments are in the declarations and, with the whole source, in the source maps: code without comments
    // loads faster.
    comments: { jsdoc: false },
  });
  await build.close();
  return output.filter(({ type }) => type === "chunk");
}

// Few chunks, since each file takes a third of a millisecond of every import.
const LIBRARY = { chunkFileNames: sharedName, leastChunkBytes: 120_000, sourcemap: true };
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
  const folders = moduleIds.map((id) => /\/src\/([^/]+)\//.exec(shown(id))?.[1]);
  const count = (folder) => folders.filter((one) => one === folder).length;
  return `shared/${folders.toSorted((a, b) => count(b) - count(a))[0] ?? name}.js`;
}

/** A module loaded later keeps its place, because the module may start files beside it. */
function nameInProgram({ facadeModuleId, isDynamicEntry, moduleIds, name }) {
  if (isDynamicEntry && facadeModuleId) return `${nameOf(shown(facadeModuleId))}.js`;
  const last = moduleIds.at(-1);
  return `${basename(last ?? name).replace(/\.[jt]s$/, "")}.js`;
}

/**
 * Turns an import of a subpath's source into an import of the package: `holdfast/nestjs` then refers to the
 * `Holdfast` of `holdfast`, without a copy.
 */
function importThePackage() {
  const names = new Map(entries.map(({ name, source }) => [join(ROOT, source), name]));
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

/** Bundles the page of `holdfast serve` for browsers. */
async function bundlePage(one) {
  const from = join(ROOT, one.folder, "src/serve/page");
  const to = join(distOf(one), "serve/page");
  const build = await rolldown({
    cwd: ROOT,
    input: { page: join(from, "page.tsx") },
    platform: "browser",
    tsconfig: join(from, "tsconfig.json"),
    transform: { target: "es2022" },
  });
  const { output } = await build.write({
    dir: to,
    format: "esm",
    entryFileNames: "[name].js",
    minify: true,
  });
  await build.close();
  for (const file of ["index.html", "page.css"]) {
    copyFileSync(join(from, file), join(to, file));
  }
  return output.filter(({ type }) => type === "chunk");
}

// The code of the smallest entries is readable without a map, and each map is another file in the package.
const LEAST_MAPPED_BYTES = 6_000;

function dropSmallMap(one, { fileName, code }) {
  const path = join(distOf(one), fileName);
  if (code.length >= LEAST_MAPPED_BYTES || !existsSync(`${path}.map`)) return;
  rmSync(`${path}.map`);
  const text = readFileSync(path, "utf8");
  writeFileSync(path, text.replace(/\n?\/\/# sourceMappingURL=\S+\s*$/, "\n"));
}

/** Fails if a program would start a file that is missing, because the code has moved to another folder. */
function checkStartedFiles(one, { fileName, code }) {
  for (const [, file] of code.matchAll(STARTED_FILE)) {
    const started = join(distOf(one), dirname(fileName), `${file}.js`);
    if (!existsSync(started)) throw new Error(`dist/${fileName} starts ${started}: not there.`);
  }
}

// In a cycle one file runs before what it uses, and which one depends on the entry that is imported first.
function checkNoCycle(chunks) {
  const importsOf = new Map(chunks.map(({ fileName, imports }) => [fileName, imports]));
  const done = new Set();
  const visit = (fileName, path) => {
    if (path.includes(fileName))
      throw new Error(`A cycle in dist: ${[...path, fileName].join(" > ")}.`);
    if (done.has(fileName)) return;
    for (const imported of importsOf.get(fileName) ?? []) visit(imported, [...path, fileName]);
    done.add(fileName);
  };
  for (const fileName of importsOf.keys()) visit(fileName, []);
}

async function rollUpDeclarations(one, sources) {
  const build = await rollup({
    input: inputOf(sources),
    external: externalsOf(one),
    plugins: [importThePackage(), dts({ tsconfig: TSCONFIG })],
    // Types without an exported name are listed in packages/holdfast/api/, where each is a decision.
    onwarn: ({ message }) => {
      if (!message.includes("private shared type exports")) console.warn(message);
    },
  });
  await build.write({
    dir: distOf(one),
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

async function buildPackage(one) {
  // A file removed from src must also leave dist, or the next release would publish the file.
  rmSync(distOf(one), { recursive: true, force: true });
  const isOurs = (source) => source.startsWith(`${one.folder}/`);
  const sources = entries.map(({ source }) => source).filter(isOurs);
  const chunks = sources.length > 0 ? await bundle(one, sources, LIBRARY) : [];
  for (const chunk of chunks) dropSmallMap(one, chunk);
  // A program in a single file needs no further files at its start.
  for (const program of [THREAD, ...programs].filter(isOurs)) {
    chunks.push(...(await bundle(one, [program], PROGRAM)));
  }
  if (one.manifest.bin !== undefined) chunks.push(...(await bundlePage(one)));
  for (const chunk of chunks) checkStartedFiles(one, chunk);
  checkNoCycle(chunks);
  const notices = thirdPartyNotices(chunks.flatMap(({ moduleIds }) => moduleIds));
  if (notices !== undefined) writeFileSync(join(distOf(one), "THIRD-PARTY.txt"), notices);
  if (one.manifest.man !== undefined) await writeManPage(one);
  if (withTypes && sources.length > 0) await rollUpDeclarations(one, sources);
}

async function writeManPage(one) {
  const { programOf } = await import(pathToFileURL(join(distOf(one), "program.js")).href);
  const grammar = programOf([], () => undefined);
  writeFileSync(join(ROOT, one.folder, one.manifest.man), manPage(grammar, MANIFEST.version));
}

/**
 * npm packs files of the package's own folder alone. Links lead to packed files or to the code host. Writes only what
 * differs: several commands may build at once.
 */
function copyDocuments() {
  const [{ folder: main }] = packages;
  const documents = readdirSync(join(ROOT, "docs"), { recursive: true })
    .map((path) => `docs/${path.split(sep).join("/")}`)
    .filter((path) => /^docs\/(?!adr\b).*\.md$|^docs\/images\b.*\.svg$/.test(path));
  for (const { folder } of packages) {
    const own = folder === main ? ["README.md", "AGENTS.md", ...documents] : [];
    const packed = ["LICENSE", "CHANGELOG.md", ...own];
    for (const file of packed) copyIfOther(file, join(folder, file), packed);
  }
  const copied = join(ROOT, main, "docs");
  for (const path of readdirSync(copied, { recursive: true, withFileTypes: true })) {
    const file = shown(join(path.parentPath, path.name)).slice(main.length + 1);
    if (path.isFile() && !documents.includes(file)) rmSync(join(ROOT, main, file), { force: true });
  }
}

function copyIfOther(from, to, packed) {
  const whole = readFileSync(join(ROOT, from), "utf8");
  const text = from.endsWith(".md") ? packedText(whole, from, packed, filesAt(MANIFEST)) : whole;
  const target = join(ROOT, to);
  if (existsSync(target) && readFileSync(target, "utf8") === text) return;
  mkdirSync(dirname(target), { recursive: true });
  writeFileSync(target, text);
}

const variant = withTypes ? "with types" : "without types";
const isFresh = isBuilt(variant) || isBuilt("with types");
if (isFresh && !process.argv.includes("--force")) {
  // Tests compare the time of the build with those of the sources, which git may have written anew.
  for (const one of packages) {
    for (const path of readdirSync(distOf(one), { recursive: true })) {
      utimesSync(join(distOf(one), path), new Date(), new Date());
    }
  }
} else {
  for (const one of packages) await buildPackage(one);
  noteBuilt(variant);
}
copyDocuments();
