import type { AcquireContext } from "../core/acquire/context.js";
import { checkName } from "../core/record/name.js";
import type { Occurrences, OnceRun } from "./once.js";
import { type OnceOptions, resolveOnce } from "./options.js";

/** Options of `Holdfast.nodeCron`. */
export type NodeCronOptions = Pick<OnceOptions, "atMostFor" | "atLeastFor" | "owner">;

/** What node-cron, 4.6 and later, asks before each run of a `distributed` task: its `RunCoordinator`. */
export interface NodeCronCoordinator {
  shouldRun(key: string, ttlMs: number | undefined): Promise<boolean>;
  onComplete(key: string): Promise<void>;
}

// node-cron's key is the task's name, a colon, and the occurrence as `toISOString()` writes it.
const KEY = /^(.*):(-?[+\d-]+T[\d:.]+Z)$/s;

/** The run coordinator of one client. The task's `distributedLease` goes before `atMostFor`. */
export function nodeCronCoordinator(
  context: AcquireContext,
  occurrences: Occurrences,
  defaultOwner: string,
  options: NodeCronOptions,
): NodeCronCoordinator {
  const runs = new Map<string, OnceRun>();
  // Said now: what a question rejects with node-cron takes for a reason to skip the occurrence.
  context.format.refOf("once", "any");
  return {
    async shouldRun(key, ttlMs) {
      const [, name = key, occurrence = key] = KEY.exec(key) ?? [];
      const asked = {
        ...options,
        occurrence,
        ...(ttlMs === undefined ? {} : { atMostFor: ttlMs }),
      };
      const settings = resolveOnce(asked, defaultOwner, context.clock.wallMs());
      const ref = context.format.refOf("once", checkName(name));
      const begun = await occurrences.begin(ref, settings);
      if (typeof begun === "string") return false;
      runs.set(key, begun);
      return true;
    },
    async onComplete(key) {
      const run = runs.get(key);
      runs.delete(key);
      await run?.end();
    },
  };
}
