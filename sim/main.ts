/**
 * Runs seeds of the simulation: `npm run sim -- --seeds 1000`, or one of them, with its timeline:
 * `npm run sim -- --seed 42`.
 */
import { parseArgs } from "node:util";
import { lineOf } from "./history.js";
import { simulate } from "./simulation.js";

const HELP = `npm run sim -- [options]
  --seeds N      how many seeds to run (default 100)
  --from N       the first of them (default 1)
  --seed N       one seed only, with its timeline
  --minutes N    simulated minutes of each (default 2)`;

const { values } = parseArgs({
  options: {
    seeds: { type: "string", default: "100" },
    from: { type: "string", default: "1" },
    seed: { type: "string" },
    minutes: { type: "string", default: "2" },
    help: { type: "boolean", default: false },
  },
});

const numberOf = (option: "seeds" | "from" | "seed" | "minutes"): number => {
  const value = Number(values[option]);
  if (Number.isFinite(value) && value >= 0) return value;
  console.error(`--${option} takes a number; it is "${values[option]}".\n${HELP}`);
  process.exit(64);
};

async function replay(seed: number, lengthMs: number): Promise<number> {
  const { history, violations, hash } = await simulate(seed, lengthMs);
  for (const event of history) console.log(lineOf(event));
  for (const violation of violations) console.log("VIOLATION", violation);
  console.log(`seed ${seed}, history ${hash}`);
  return violations.length;
}

async function runMany(from: number, count: number, lengthMs: number): Promise<number> {
  const startMs = performance.now();
  const faults = new Map<string, number>();
  let [grants, simulatedMs, bad, done] = [0, 0, 0, 0];
  for (let seed = from; seed < from + count; seed += 1) {
    const outcome = await simulate(seed, lengthMs);
    grants += outcome.grants;
    simulatedMs += outcome.simulatedMs;
    done += 1;
    for (const [kind, times] of Object.entries(outcome.faults)) {
      faults.set(kind, (faults.get(kind) ?? 0) + times);
    }
    if (outcome.violations.length > 0) {
      bad += 1;
      console.log(
        `seed ${seed} is bad; replay it with --seed ${seed}`,
        outcome.violations.slice(0, 3),
      );
    }
    if (process.stderr.isTTY && done % 10 === 0)
      process.stderr.write(`\r${done} of ${count} seeds`);
  }
  const realMs = performance.now() - startMs;
  const hours = simulatedMs / 3_600_000;
  console.log(
    `${count} seeds, ${bad} bad; ${hours.toFixed(1)} simulated hours in ${(realMs / 1000).toFixed(0)} s ` +
      `(${Math.round(simulatedMs / realMs)} times real time); ${grants} grants`,
  );
  for (const [kind, times] of faults) if (times > 0) console.log(`  ${kind}: ${times}`);
  return bad;
}

if (values.help) {
  console.log(HELP);
} else {
  const lengthMs = numberOf("minutes") * 60_000;
  const bad =
    values.seed === undefined
      ? await runMany(numberOf("from"), numberOf("seeds"), lengthMs)
      : await replay(numberOf("seed"), lengthMs);
  process.exitCode = bad > 0 ? 1 : 0;
}
