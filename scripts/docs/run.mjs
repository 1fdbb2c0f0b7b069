// Makes the documentation site in `site`: npm run docs. TypeDoc renders the reference of every entry and all documents; a
// warning is an error. The site also has each document as plain Markdown, listed in llms.txt. In the end, the script follows
// every link within the site.
import { cpSync, globSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { dirname, join, relative, sep } from "node:path";
import { LinkChecker } from "linkinator";
import { Application, Comment, CommentTag, Converter, ReflectionKind } from "typedoc";
import { MANIFEST, packages, ROOT, subpaths } from "../lib/entries.mjs";

const SITE = join(ROOT, "site");

// The order of the site's menu.
const SECTIONS = [
  ["Guides", ["docs/*.md"]],
  ["Migration", ["docs/migration/*.md"]],
  ["Protocol and formats", ["spec/*.md", "spec/formats/*.md"]],
  ["Verification", ["verification/**/*.md", "test/interop/README.md", "test/interop/results.md"]],
  ["Decisions", ["docs/adr/*.md"]],
  ["Project", ["*.md", "packages/*/README.md", "examples/README.md"]],
];
// The README is the first page.
const FRONT = "README.md";
// The first entry of llms.txt.
const AGENTS = "AGENTS.md";

const sections = SECTIONS.map(([title, patterns]) => ({
  title,
  paths: globSync(patterns, {
    cwd: ROOT,
    exclude: (path) => /(?:^|[\\/])node_modules$/.test(path),
  })
    .map((path) => path.split(sep).join("/"))
    // The build copies the first page to the package of its name.
    .filter((path) => path !== FRONT && path !== `${packages[0].folder}/${FRONT}`)
    .sort(),
}));
const documents = sections.flatMap(({ paths }) => paths);

const textOf = (path) => readFileSync(join(ROOT, path), "utf8");
const titleOf = (path) =>
  textOf(path)
    .match(/^# (.+)$/m)?.[1]
    .replaceAll("`", "") ?? path;

/** What a page is about: the headings of its sections. */
const summaryOf = (path) =>
  [
    ...textOf(path)
      .replace(/^(```)[\s\S]*?^\1/gm, "")
      .matchAll(/^## (.+)$/gm),
  ]
    .map(([, heading]) => heading.replaceAll("`", ""))
    .join("; ");

async function render() {
  const app = await Application.bootstrap({
    name: "Holdfast",
    entryPoints: subpaths.map(({ source }) => join(ROOT, source)),
    tsconfig: join(ROOT, "tsconfig.build.json"),
    readme: join(ROOT, FRONT),
    projectDocuments: documents.map((path) => join(ROOT, path)),
    excludeInternal: true,
    excludePrivate: true,
    hideGenerator: true,
    // Links to the sources need the address of the repository.
    disableSources: MANIFEST.repository === undefined,
    disableGit: MANIFEST.repository === undefined,
    githubPages: true,
    sortEntryPoints: false,
    highlightLanguages: [
      "typescript",
      "javascript",
      "json",
      "jsonc",
      "yaml",
      "bash",
      "sh",
      "sql",
      "ini",
      "hcl",
      "tsx",
      "csharp",
      "java",
      "go",
      "rust",
      "console",
    ],
    ignoredHighlightLanguages: ["crontab", "promela"],
    validation: { invalidLink: true, invalidPath: true, notExported: true },
    groupOrder: [...sections.map(({ title }) => title), "*"],
    navigation: { includeGroups: true, excludeReferences: true },
    treatWarningsAsErrors: true,
    treatValidationWarningsAsErrors: true,
  });
  app.converter.on(Converter.EVENT_RESOLVE_BEGIN, ({ project }) => {
    nameModules(project.getReflectionsByKind(ReflectionKind.Module));
    nameDocuments(project.documents ?? [], project);
  });
  const project = await app.convert();
  if (project === undefined) throw new Error("TypeDoc found errors.");
  app.validate(project);
  await app.generateDocs(project, SITE);
  if (app.logger.hasErrors() || app.logger.hasWarnings()) throw new Error("TypeDoc warned.");
}

/** Names each entry as users import it. */
function nameModules(modules) {
  for (const one of modules) {
    const found = subpaths.find(
      ({ source }) =>
        source === `packages/${one.name}.ts` || source === `packages/${one.name}/index.ts`,
    );
    if (found === undefined) throw new Error(`No entry is called ${one.name}.`);
    one.name = found.name;
  }
}

/** Titles each document by its first heading, and puts it into its section of the menu. */
function nameDocuments(all, { files }) {
  for (const one of all) {
    const path = relative(ROOT, files.getReflectionPath(one)).split(sep).join("/");
    one.name = titleOf(path);
    one.comment ??= new Comment();
    const { title } = sections.find(({ paths }) => paths.includes(path));
    one.comment.blockTags.push(new CommentTag("@group", [{ kind: "text", text: title }]));
  }
}

function writeMarkdown() {
  for (const path of [FRONT, ...documents]) {
    const target = join(SITE, "markdown", path);
    mkdirSync(dirname(target), { recursive: true });
    cpSync(join(ROOT, path), target);
  }
  const base = MANIFEST.homepage?.replace(/\/?$/, "/") ?? "";
  const line = (path) => `- [${titleOf(path)}](${base}markdown/${path}): ${summaryOf(path)}`;
  const parts = sections.map(({ title, paths }) => {
    const lines = paths.filter((path) => path !== AGENTS).map(line);
    return `## ${title}\n\n${lines.join("\n")}`;
  });
  writeFileSync(
    join(SITE, "llms.txt"),
    [
      `# Holdfast\n\n> ${MANIFEST.description}`,
      `- [How to use locks safely](${base}markdown/${AGENTS})\n- [Overview](${base}markdown/${FRONT})`,
      ...parts,
      "",
    ].join("\n\n"),
  );
}

async function checkLinks() {
  const { links, passed } = await new LinkChecker().check({
    path: ["**/*.html"],
    serverRoot: SITE,
    recurse: true,
    // Other hosts may be away, which is no error of the site's.
    linksToSkip: ["^https?://(?!localhost|127[.]0[.]0[.]1|\\[::1)"],
  });
  const broken = links.filter(({ state }) => state === "BROKEN");
  const followed = links.filter(({ state }) => state === "OK").length;
  for (const { url, parent } of broken) console.error(`broken: ${url} in ${parent}`);
  if (followed === 0) throw new Error("No link was followed.");
  if (!passed) throw new Error(`${broken.length} links of the site are broken.`);
  console.log(
    `${relative(ROOT, SITE)}: ${documents.length + 1} documents, ${followed} links followed`,
  );
}

rmSync(SITE, { recursive: true, force: true });
await render();
writeMarkdown();
await checkLinks();
