// Simulates verification/quint/lease.qnt, the second model of the lease: npm run quint. The protocol must keep every
// invariant in random runs; without a rule, the recorded run of this rule must break the rule's own invariant.
// `--short` makes fewer runs of the protocol, as `npm run test:long` does; `--seed N` makes other runs. `--only RULE` prints
// the run that breaks without this rule; with `--find`, the command first looks for another such run.
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { parseArgs } from "node:util";
import { ROOT } from "./lib/entries.mjs";
import { BOUNDS, BROKEN_RULES } from "./lib/quint-rules.mjs";
import { toolCommand } from "./lib/tools.mjs";

const MODEL = join(ROOT, "verification/quint/lease.qnt");
const STEPS = 100;
const RUNS = 5_000;
const SHORT_RUNS = 200;
// Without some rules, an invariant breaks only in a rare order of steps.
const MOST_RUNS = 1_000_000;

const { values } = parseArgs({
  options: {
    short: { type: "boolean", default: false },
    seed: { type: "string", default: "1" },
    only: { type: "string" },
    find: { type: "boolean", default: false },
  },
});
const quint = toolCommand("verification/quint", "quint");
const folder = mkdtempSync(join(tmpdir(), "holdfast-quint-"));
process.once("exit", () => rmSync(folder, { recursive: true, force: true }));

/** Runs the model without one rule until an invariant breaks. Returns the name of this invariant, if any. */
function simulate({ rule, lease, drift }, runs, seed, isShown) {
  const file = join(folder, "lease.qnt");
  const constants = `BROKEN = "${rule}", LEASE = ${lease}, DRIFT = ${drift}`;
  const variant = `module variant { import lease(${constants}).* }\n`;
  writeFileSync(file, `${readFileSync(MODEL, "utf8")}\n${variant}`);
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [
      ...[quint, "run", file, "--main=variant", "--backend=typescript", `--seed=${seed}`],
      ...[`--max-samples=${runs}`, `--max-steps=${STEPS}`, `--verbosity=${isShown ? 2 : 1}`],
      ...["--invariants", "Exclusion", "LostIsFinal", "FenceGrows"],
    ],
    { encoding: "utf8", maxBuffer: 1 << 28 },
  );
  const broken = /❌ (\w+)/.exec(stdout)?.[1];
  if (isShown) console.log(stdout);
  if (status === 0 || broken !== undefined)
    return { broken, seed: /--seed=(\w+)/.exec(stdout)?.[1] };
  throw new Error(`quint: ${stdout}${stderr}`);
}

let failed = 0;

function tell(isGood, text) {
  console.log(`${isGood ? "ok  " : "FAIL"} ${text}`);
  failed += isGood ? 0 : 1;
}

function checkProtocol(bounds) {
  const runs = values.short ? SHORT_RUNS : RUNS;
  const { broken, seed } = simulate({ rule: "none", ...bounds }, runs, values.seed, false);
  const verdict = broken === undefined ? "holds" : `breaks ${broken}, seed ${seed}`;
  tell(
    broken === undefined,
    `the protocol, lease ${bounds.lease}, drift ${bounds.drift}: ${verdict} in ${runs.toLocaleString("en")} runs`,
  );
}

function checkRule({ seed: recorded, ...broken }) {
  const { rule, breaks } = broken;
  const isShown = values.only !== undefined;
  const { broken: found, seed } = values.find
    ? simulate(broken, MOST_RUNS, values.seed, isShown)
    : simulate(broken, 1, recorded, isShown);
  const verdict = found === breaks ? breaks : `${found ?? "nothing"}, and not ${breaks}`;
  tell(found === breaks, `without "${rule}": breaks ${verdict}, seed ${seed}`);
}

const wanted = BROKEN_RULES.filter(({ rule }) => (values.only ?? rule) === rule);
if (wanted.length === 0) {
  const names = BROKEN_RULES.map(({ rule }) => `"${rule}"`).join(", ");
  console.error(`No rule is called "${values.only}". The rules are ${names}.`);
  process.exit(1);
}
if (values.only === undefined) for (const bounds of BOUNDS) checkProtocol(bounds);
for (const one of wanted) checkRule(one);
console.log(
  failed === 0 ? "The second model is as it must be." : `${failed} are not as they must be.`,
);
process.exitCode = failed === 0 ? 0 : 1;
