// Kernels with one broken rule each, to prove that the chaos run can fail. Only the bundle has the change, not
// the source.
import { readFile } from "node:fs/promises";

/** The kernels by name: the file in `src`, the original text, and its replacement. */
export const BROKEN = {
  // A lease ends only with an answer.
  deadline: ["core/hold/deadline.ts", "lengthMs - elapsedMsUntil(now, start));", "lengthMs);"],
  // A rival counts as dead after a fifth of its lease.
  watch: ["core/record/decide.ts", "leaseMs * (1 + 2 * maxClockDrift)", "0.2 * leaseMs"],
  // For a holder on a session, watches the lock's record, which receives no renewals.
  session: [
    "core/record/decide.ts",
    "if (session !== undefined) return",
    'if (session === "") return',
  ],
  // A guarded write requires only that the lock was granted once.
  guard: [
    "core/hold/condition.ts",
    "context.format.lease.heldCondition(held, ref)",
    '{ kind: "equals", attribute: "v", value: { N: "1" } }',
  ],
  // A permit is granted whether or not it fits under the limit.
  permits: [
    "native/native-permits.ts",
    'any(isAbsent("used"), { kind: "below", attribute: "used", value: n(limit - weight + 1) }),',
    "",
  ],
  // A deadline is counted by the wall clock alone.
  wall: [
    "platform/clock.ts",
    "now.monotonicMs - start.monotonicMs,\n    now.wallMs - start.wallMs,\n    now.bootMs - start.bootMs,",
    "now.wallMs - start.wallMs,",
  ],
};

/** An esbuild plugin that breaks the kernel in the named way. */
export function brokenKernel(name) {
  const broken = BROKEN[name];
  if (broken === undefined) {
    throw new Error(`--break must be one of ${Object.keys(BROKEN).join(", ")}, not "${name}".`);
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
