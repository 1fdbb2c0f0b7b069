// Checks what the packages are made of: node scripts/audit.mjs. Reads the licences from the lock files, and asks npm for known
// vulnerabilities. Where npm's service does not answer, it says so; with --require-audit that is a failure.
import { spawnSync } from "node:child_process";
import fs, { readFileSync } from "node:fs";
import { join } from "node:path";
import { attempt, finish, packages, ROOT, WORKSPACE } from "./lib/projects.mjs";
import { built } from "./lib/ready.mjs";

await built();

/** `dist` contains code of these packages, so their licences bind our users. */
const PERMISSIVE = ["MIT", "ISC", "0BSD", "BSD-2-Clause", "BSD-3-Clause", "Apache-2.0"];

/** Tools run on a developer's machine, and reach no user. */
const FOR_TOOLS = [
  ...PERMISSIVE,
  "BlueOak-1.0.0",
  "CC-BY-4.0",
  "MPL-2.0",
  "Python-2.0",
  "Unlicense",
  "LGPL-3.0-only",
  "MIT OR Apache-2.0",
  "Apache 2.0",
  "(MIT OR GPL-3.0-or-later)",
  "(MIT OR CC0-1.0)",
];

/** Their package.json names no licence, or in an old form; their repositories have the MIT licence. */
const NAMED_ELSEWHERE = [
  "busboy",
  "dicer",
  "streamsearch",
  "humanize-number",
  "only",
  "querystring",
];

/** Vulnerable packages that cannot harm a developer, with the reason. */
const TOLERATED = {
  dicer:
    "s3rver, a test server on the loopback interface, parses the uploads of our own tests with it",
  busboy: "as dicer, which it contains",
  s3rver: "as dicer, which it contains",
};

const read = (path) => JSON.parse(readFileSync(join(ROOT, path), "utf8"));
const nameOf = (place) => place.slice(place.lastIndexOf("node_modules/") + "node_modules/".length);

function bundled() {
  const texts = packages
    .map(({ folder }) => join(ROOT, folder, "dist", "THIRD-PARTY.txt"))
    .filter((path) => fs.existsSync(path))
    .map((path) => readFileSync(path, "utf8"));
  const notices = texts.flatMap((text) => [...text.matchAll(/^(\S+) \d\S*, (\S.*)$/gm)]);
  if (notices.length === 0) throw new Error("no dist/THIRD-PARTY.txt names a package");
  return notices.map(([, name, license]) => ({ name, license }));
}

function checkBundledLicences() {
  const refused = bundled().filter(({ license }) => !PERMISSIVE.includes(license));
  if (refused.length > 0) throw new Error(JSON.stringify(refused));
}

function checkToolLicences() {
  const locks = fs.globSync("**/package-lock.json", {
    cwd: ROOT,
    exclude: (path) => /(?:^|[\\/])(?:node_modules|\.tmp)$/.test(path),
  });
  for (const lock of locks) {
    for (const [place, { license, link }] of Object.entries(read(lock).packages)) {
      if (!place.includes("node_modules/") || link || FOR_TOOLS.includes(license)) continue;
      if (license === undefined && NAMED_ELSEWHERE.includes(nameOf(place))) continue;
      throw new Error(`${lock}: ${nameOf(place)} has the licence ${license ?? "(none)"}`);
    }
  }
}

function checkInstallScripts() {
  const allowed = Object.keys(WORKSPACE.allowScripts);
  const found = Object.entries(read("package-lock.json").packages)
    .filter(([, { hasInstallScript, optional }]) => hasInstallScript && !optional)
    .map(([place]) => nameOf(place))
    .filter((name) => !allowed.includes(name));
  if (found.length > 0) throw new Error(`allowScripts of package.json decides nothing of ${found}`);
}

function auditReport() {
  const { stdout } = spawnSync("npm", ["audit", "--json"], { cwd: ROOT, encoding: "utf8" });
  return JSON.parse(stdout || '{"message":"no answer"}');
}

function checkVulnerabilities({ vulnerabilities, message }) {
  if (vulnerabilities === undefined) throw new Error(message);
  const ours = bundled().map(({ name }) => name);
  const isDangerous = ({ name, severity }) =>
    ours.includes(name) || (/^(?:high|critical)$/.test(severity) && !(name in TOLERATED));
  const found = Object.values(vulnerabilities).filter(isDangerous);
  if (found.length === 0) return;
  throw new Error(found.map(({ name, severity }) => `${name} (${severity})`).join(", "));
}

const report = auditReport();
const isAnswered = report.vulnerabilities !== undefined;
if (!isAnswered) console.log(`npm was not asked for vulnerabilities: ${report.message}`);

const checks = [
  await attempt("licences of the bundled packages", checkBundledLicences),
  await attempt("licences of the development tools", checkToolLicences),
  await attempt("install scripts", checkInstallScripts),
];
if (isAnswered || process.argv.includes("--require-audit")) {
  checks.push(await attempt("known vulnerabilities", () => checkVulnerabilities(report)));
}
finish(checks);
