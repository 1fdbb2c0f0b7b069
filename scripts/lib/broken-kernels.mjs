// Kernels with one rule broken each, to see that the chaos run can fail. The source is changed while it
// is bundled, and nowhere else.
import { readFile } from "node:fs/promises";

/** By name: the file of `src`, what stands there, and what is put in its place. */
const BROKEN = {
  // A lease ends only when an answer says so.
  deadline: [
    "core/hold/deadline.ts",
    "({ start, lengthMs }) => lengthMs - elapsedMsSince(start, this.#clock)",
    "({ lengthMs }) => lengthMs",
  ],
  // A rival counts as dead after a fifth of its lease.
  watch: ["core/record/decide.ts", "leaseMs * (1 + 2 * maxClockDrift)", "0.2 * leaseMs"],
  // Of a holder that lives by a session the lock's record is watched, which nobody renews.
  session: [
    "core/record/decide.ts",
    "if (session !== undefined) return",
    'if (session === "") return',
  ],
  // A guarded write requires only that somebody was granted the lock once.
  guard: [
    "core/hold/condition.ts",
    "format.heldCondition(hold.held)",
    '{ kind: "equals", attribute: "v", value: { N: "1" } }',
  ],
  // A deadline is counted by the wall clock alone.
  wall: [
    "platform/clock.ts",
    "clock.monotonicMs() - start.monotonicMs,\n    clock.wallMs() - start.wallMs,\n    clock.bootMs() - start.bootMs,",
    "clock.wallMs() - start.wallMs,",
  ],
};

/** A plugin of esbuild that breaks the kernel in the way of this name. */
export function brokenKernel(name) {
  const broken = BROKEN[name];
  if (broken === undefined) {
    throw new Error(`--break takes ${Object.keys(BROKEN).join(", ")}; it is "${name}".`);
  }
  const [file, was, is] = broken;
  return {
    name: "broken-kernel",
    setup(build) {
      let isApplied = false;
      build.onLoad({ filter: /[\\/]src[\\/].*\.ts$/ }, async ({ path }) => {
        if (!path.replaceAll("\\", "/").endsWith(`/src/${file}`)) return undefined;
        const source = await readFile(path, "utf8");
        if (source.split(was).length !== 2) throw new Error(`${file} does not say "${was}" once.`);
        isApplied = true;
        return { contents: source.replace(was, () => is), loader: "ts" };
      });
      build.onEnd(() => {
        if (!isApplied) throw new Error(`${file} is not in the bundle.`);
      });
    },
  };
}
