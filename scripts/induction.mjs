// Proves the lease for any number of processes, with Z3: node scripts/induction.mjs [--only NAME] [--break NAME]. The
// clauses of verification/induction/invariant.mjs hold at the start, and each step of the protocol keeps them. Then each broken rule
// must break one of them. --only shows the counter-example of one broken rule, or one run. --break proves the rule's step with this
// rule broken, which must fail. --list runs nothing.
import { parseArgs } from "node:util";
import { BROKEN } from "../verification/induction/broken.mjs";
import { FOLLOWS } from "../verification/induction/clocks.mjs";
import { CLAUSES } from "../verification/induction/invariant.mjs";
import { stepsOf } from "../verification/induction/protocol.mjs";
import {
  clocksShow,
  propertiesFollow,
  startHolds,
  stepKeeps,
} from "../verification/induction/prove.mjs";
import { counterExample, isPossible } from "../verification/induction/refute.mjs";
import { run, WITNESSES } from "../verification/induction/witness.mjs";
import { onDevelopmentNode } from "./lib/ready.mjs";

await onDevelopmentNode();

const STEPS = Object.keys(stepsOf(FOLLOWS));

const { values: options } = parseArgs({
  options: {
    only: { type: "string" },
    break: { type: "string" },
    list: { type: "boolean", default: false },
  },
});

let failed = 0;

function tell(isGood, text) {
  if (!isGood) failed += 1;
  console.log(`${isGood ? "ok  " : "FAIL"} ${text}`);
}

/** Tells whether Z3 found nothing against any of these. */
function tellAll(answers, text) {
  const against = Object.entries(answers).filter(([, answer]) => answer !== "unsat");
  const verdict = against.map(([name, answer]) => `${name}: ${answer}`).join(", ");
  tell(against.length === 0, verdict === "" ? text : `${text}, but not ${verdict}`);
}

async function prove(broken) {
  tellAll(await clocksShow(broken), "clocks and dates show what the steps need");
  tellAll(await startHolds(), "the invariant holds at the start");
  const own = BROKEN.find(({ name }) => name === broken)?.step;
  for (const step of own === undefined ? STEPS : [own]) {
    const answers = await stepKeeps(step, broken);
    tellAll(answers, `${step} keeps the invariant`);
  }
  tellAll(await propertiesFollow(), "exclusion and guarded writes follow");
}

async function checkPossible() {
  for (const step of STEPS) {
    if (!(await isPossible(step))) tell(false, `${step} is never possible`);
  }
  tell(true, "every step is possible in a state in which the invariant holds");
}

async function refute(broken) {
  const found = await counterExample(broken);
  const title = `${broken.name} (rule ${broken.rule}): ${broken.step} breaks ${broken.breaks}`;
  tell(found !== undefined, found === undefined ? `${title}, as Z3 does not find` : title);
  if (found === undefined || options.only !== broken.name) return;
  for (const line of found.before) console.log(`       before  ${line}`);
  console.log(`       step    ${found.step}`);
  for (const line of found.after) console.log(`       after   ${line}`);
  console.log(`       broken  ${broken.breaks}, of ${found.about.join(", ")}`);
}

async function witness(one) {
  const steps = await run(one);
  tell(steps !== undefined, `${one.name} is possible`);
  if (options.only === one.name) for (const step of steps ?? []) console.log(`       ${step}`);
}

function list() {
  console.log(`clauses: ${Object.keys(CLAUSES).join(", ")}`);
  console.log(`steps: ${STEPS.join(", ")}`);
  for (const { name, rule, step, breaks } of BROKEN) {
    console.log(`broken: ${name} (rule ${rule}): ${step} breaks ${breaks}`);
  }
  for (const { name } of WITNESSES) console.log(`run: ${name}`);
}

async function main() {
  if (options.list) return list();
  const named = options.break ?? options.only;
  const isNamed = ({ name }) => named === undefined || name === named;
  const [broken, runs] = [BROKEN.filter(isNamed), WITNESSES.filter(isNamed)];
  if (broken.length + runs.length === 0) throw new Error(`Nothing is called "${named}".`);
  const started = performance.now();
  if (options.only === undefined) await prove(options.break);
  if (options.break === undefined) {
    if (options.only === undefined) await checkPossible();
    for (const one of broken) await refute(one);
    for (const one of runs) await witness(one);
  }
  const seconds = ((performance.now() - started) / 1_000).toFixed(0);
  console.log(
    `${failed === 0 ? "All as it must be" : `${failed} not as they must be`}, in ${seconds} s.`,
  );
}

try {
  await main();
  process.exitCode = failed === 0 ? 0 : 1;
} catch (error) {
  console.error(error.message);
  process.exitCode = 1;
}
