// Runs the short form of the tests on the other supported versions of Node, and compares the simulation's
// histories across versions, time zones and languages: node scripts/other-nodes.mjs.
import { join } from "node:path";
import { bundled } from "./lib/bundle.mjs";
import { checkExecutable } from "./lib/executable.mjs";
import { nodeOf, OTHERS, TOOLCHAIN } from "./lib/nodes.mjs";
import { attempt, finish, ROOT, run } from "./lib/projects.mjs";
import { built } from "./lib/ready.mjs";

await built();

// A time zone with half an hour; a language with a decimal comma, and a language with two letters i.
const PLACES = [
  { TZ: "Asia/Kolkata", LANG: "de_DE.UTF-8", LC_ALL: "de_DE.UTF-8" },
  { TZ: "America/St_Johns", LANG: "tr_TR.UTF-8", LC_ALL: "tr_TR.UTF-8" },
];

const results = [];
for (const version of [...OTHERS, TOOLCHAIN]) {
  results.push(
    await attempt(`Node ${version}`, () =>
      run(nodeOf(version), [join(ROOT, "test", "package", "smoke.mjs")], { cwd: ROOT }),
    ),
  );
}
const newest = OTHERS.at(-1);
results.push(
  await attempt(`single executable of Node ${newest}`, () => checkExecutable(nodeOf(newest))),
);

// `npm run test:long` compares them on this Node.
const simulation = await bundled("verification/sim/main.ts");
const compareHistories = (node, place) =>
  run(node, [simulation, "--check-hashes", join(ROOT, "verification", "sim", "hashes.json")], {
    cwd: ROOT,
    env: { ...process.env, ...place },
  });
for (const [index, version] of OTHERS.entries()) {
  const title = `histories on Node ${version}, ${PLACES[index % PLACES.length].TZ}`;
  results.push(
    await attempt(title, () => compareHistories(nodeOf(version), PLACES[index % PLACES.length])),
  );
}
finish(results);
