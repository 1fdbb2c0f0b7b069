// Prints the section of CHANGELOG.md for the version of package.json, which is the text of the release:
// node scripts/release-notes.mjs
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { MANIFEST, ROOT } from "./lib/entries.mjs";

/** The section of a version, without its heading; undefined if there is none. A heading is `## 1.2.3 (2027-01-31)`. */
export function sectionOf(version, changelog = readFileSync(join(ROOT, "CHANGELOG.md"), "utf8")) {
  const sections = changelog.split(/^## /m).slice(1);
  const found = sections.find((section) => section.split(/[\s(]/, 1)[0] === version);
  return found?.slice(found.indexOf("\n")).trim();
}

if (import.meta.url === pathToFileURL(process.argv[1]).href) {
  const section = sectionOf(MANIFEST.version);
  if (section === undefined) {
    console.error(`CHANGELOG.md has no section "## ${MANIFEST.version}".`);
    process.exitCode = 1;
  } else console.log(section);
}
