// The licences of the bundled packages, as the licences require.
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const INTRODUCTION =
  "This package contains code of the packages that follow, under their licences.";

/** The text of the notice, from the paths of all modules in the build; undefined if it contains no other package. */
export function thirdPartyNotices(paths) {
  const folders = new Set(paths.flatMap((path) => path.match(PACKAGE_FOLDER)?.slice(0, 1) ?? []));
  if (folders.size === 0) return undefined;
  return [INTRODUCTION, ...[...folders].sort().map(noticeOf)].join("\n\n---\n\n").concat("\n");
}

const PACKAGE_FOLDER = /^.*[\\/]node_modules[\\/](?:@[^\\/]+[\\/])?[^\\/]+(?=[\\/])/;

function noticeOf(folder) {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, "package.json"), "utf8"));
  const file = readdirSync(folder).find((one) => /^licen[cs]e/i.test(one));
  if (file === undefined) throw new Error(`${name} ${version} (${license}) ships no licence.`);
  return `${name} ${version}, ${license}\n\n${readFileSync(join(folder, file), "utf8").trim()}`;
}
