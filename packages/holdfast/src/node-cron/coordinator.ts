import type { FormatTypes } from "../core/record/format-types.js";
import type { Holdfast, OnceOptions } from "../index.js";
import { inMs } from "../internal/duration.js";
import { checkNames, type OptionNames } from "../internal/option-names.js";
import { occurrences } from "../once/once.js";
import { resolveOnce } from "../once/options.js";

/** Options of {@link nodeCronCoordinator}. */
export type NodeCronOptions = Pick<OnceOptions, "atMostFor" | "atLeastFor" | "owner">;

const OPTION_NAMES: OptionNames<NodeCronOptions> = {
  atMostFor: true,
  atLeastFor: true,
  owner: true,
};

/** The `RunCoordinator` of node-cron 4.6 and later, called before each run of a `distributed` task. */
export interface NodeCronCoordinator {
  shouldRun(key: string, ttlMs: number | undefined): Promise<boolean>;
  onComplete(key: string): Promise<void>;
}

// node-cron's key is the task's name, a colon, and the occurrence in the format of `toISOString()`.
const KEY = /^(.*):(-?[+\d-]+T[\d:.]+Z)$/s;

// What node-cron passes for a task without `distributedLease`.
const DEFAULT_TTL_MS = 30_000;

/**
 * Returns a `RunCoordinator` for node-cron 4.6 and later. Each occurrence of a `distributed` task then runs on only one
 * instance.
 *
 * The task's `distributedLease` overrides `atMostFor`, unless it is 30 s, which node-cron also passes for a task without it.
 * Each occurrence costs the same as `once()`. If the table does not answer, node-cron skips the occurrence. Throws
 * `invalid-argument`, also if the client's format does not support `once`.
 *
 * @example
 * cron.setRunCoordinator(nodeCronCoordinator(locks));
 */
export function nodeCronCoordinator<S extends FormatTypes>(
  locks: Holdfast<S>,
  options: NodeCronOptions = {},
): NodeCronCoordinator {
  checkNames("nodeCronCoordinator()", options, OPTION_NAMES);
  // Throws here for a wrong option, or if the format does not support `once`. If `shouldRun` rejected instead, node-cron
  // would only skip the occurrence.
  resolveOnce({ ...options, occurrence: "any" }, "any");
  const begin = occurrences(locks);
  const ends = new Map<string, () => Promise<void>>();
  return {
    async shouldRun(key, ttlMs) {
      const [, name = key, occurrence = key] = KEY.exec(key) ?? [];
      const ttl = ttlMs === undefined ? undefined : inMs(ttlMs);
      const own = ttlMs === DEFAULT_TTL_MS ? undefined : ttl;
      const atMostFor = own ?? options.atMostFor ?? ttl;
      const begun = await begin(name, { ...options, occurrence, atMostFor });
      if (begun.kind !== "begun") return false;
      ends.set(key, () => begun.end());
      return true;
    },
    async onComplete(key) {
      const end = ends.get(key);
      ends.delete(key);
      await end?.();
    },
  };
}
