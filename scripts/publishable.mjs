// Checks before a release that everything only the owner knows is there, and that tag, version and changelog agree:
// node scripts/publishable.mjs. All that the owner must fill in stands in the packages' package.json: npm's provenance needs
// `repository`, npm's page of the package resolves the README's links with it, and the documentation site is `homepage`.
import { MANIFEST, outputOf, packages, ROOT } from "./lib/projects.mjs";
import { onDevelopmentNode } from "./lib/ready.mjs";
import { sectionOf } from "./release-notes.mjs";

await onDevelopmentNode();

const OWNERS = {
  repository: 'the repository, such as { "type": "git", "url": "git+https://…/holdfast.git" }',
  bugs: "where users report defects, such as the issues of the repository",
  homepage: "the address of the documentation site",
};

const problems = [];

for (const { folder, manifest } of packages) {
  for (const [field, meaning] of Object.entries(OWNERS)) {
    if (manifest[field] === undefined)
      problems.push(`${folder}/package.json has no \`${field}\`: ${meaning}.`);
  }
}

const { version } = MANIFEST;
if (sectionOf(version) === undefined) {
  problems.push(
    `CHANGELOG.md has no section "## ${version}": rename "Unreleased", and add the date.`,
  );
}

// The tag for which a workflow runs.
const tag = process.env.GITHUB_REF_NAME;
if (tag !== undefined && tag !== `v${version}`) {
  problems.push(`The tag is ${tag}, but the packages have the version ${version}.`);
}

/** The versions and the repository that npm knows of a package, or undefined if npm has no package of this name. */
function published(name) {
  try {
    return JSON.parse(
      outputOf("npm", ["view", name, "--json", "repository", "versions"], { cwd: ROOT }),
    );
  } catch (error) {
    if (/E404/.test(error.message)) return undefined;
    throw error;
  }
}

for (const { manifest } of packages) {
  const { name } = manifest;
  const found = published(name);
  if (found === undefined) continue;
  const url = (repository) => repository?.url ?? repository;
  if ([found.versions].flat().includes(version))
    problems.push(`npm has ${name} ${version} already.`);
  if (url(found.repository) !== url(manifest.repository)) {
    problems.push(
      `npm's package ${name} is of another repository (${url(found.repository)}). Choose a \`name\` that is free.`,
    );
  }
}

for (const problem of problems) console.error(problem);
if (problems.length > 0) process.exitCode = 1;
else console.log(`Version ${version} of all packages can be published.`);
