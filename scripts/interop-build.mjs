// Builds the drivers of test/interop, or says why a build is impossible: node scripts/interop-build.mjs. Names of
// languages after `--` limit the build to these languages.
import { buildLanguage, languages } from "./lib/interop-drivers.mjs";
import { attempt, finish } from "./lib/projects.mjs";
import { onDevelopmentNode } from "./lib/ready.mjs";

await onDevelopmentNode();

const asked = process.argv.slice(2);
const results = [];
for (const language of asked.length > 0 ? asked : languages) {
  const fromMs = performance.now();
  let how = "";
  const result = await attempt(language, () => {
    how = buildLanguage(language).wasThere ? "was there" : "built";
  });
  const tookS = ((performance.now() - fromMs) / 1000).toFixed(1);
  results.push({ ...result, title: `driver in ${language}: ${how || "not built"}, ${tookS} s` });
}
finish(results);
