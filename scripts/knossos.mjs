// Knossos judges the histories that Porcupine judges: npm run knossos -- --help.
import { spawnSync } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { judgeHistories } from "./lib/histories.mjs";
import { ROOT } from "./lib/projects.mjs";

const SOURCES = join(ROOT, "verification/knossos");
const needs = "Java 17 or newer and Maven (Debian: openjdk-17-jre-headless, maven)";
// A search can need memory that grows with 2 to the number of operations at once. Then Knossos gives no verdict.
const HEAP = "-Xmx4g";

/** The class path that Maven finds for pom.xml. Maven downloads what its local repository lacks. */
function classPath(folder) {
  const file = join(folder, "classpath");
  const goal = ["dependency:build-classpath", `-Dmdep.outputFile=${file}`];
  const pom = join(SOURCES, "pom.xml");
  const { status, error, stdout } = spawnSync("mvn", ["-B", "-q", "-f", pom, ...goal], {
    encoding: "utf8",
  });
  if (error !== undefined) throw new Error(`Knossos needs ${needs}.`);
  if (status === 0) return readFileSync(file, "utf8").trim();
  throw new Error(
    `${stdout}\nMaven did not get Knossos. Knossos and some of its libraries are on Clojars, not on Maven Central. ` +
      "Run the command once where Maven reaches both, or name a mirror of them in Maven's settings.xml; " +
      "afterwards Maven finds them in its local repository.",
  );
}

function start(folder) {
  const java = spawnSync("java", ["-version"], { encoding: "utf8" });
  if (java.error !== undefined) throw new Error(`Knossos needs ${needs}.`);
  const path = classPath(folder);
  const program = [HEAP, "-cp", path, "clojure.main", join(SOURCES, "check.clj")];
  const run = (files) =>
    spawnSync("java", [...program, ...files], {
      encoding: "utf8",
      maxBuffer: 1 << 26,
      stdio: ["ignore", "pipe", "inherit"],
    }).stdout;
  const [, version] = /[\\/]knossos-([\d.]+)\.jar/.exec(path);
  return { run, about: `Knossos ${version}, Java ${/"(.+?)"/.exec(java.stderr)?.[1]}` };
}

await judgeHistories({ name: "knossos", checker: "Knossos", needs, format: "edn", start });
