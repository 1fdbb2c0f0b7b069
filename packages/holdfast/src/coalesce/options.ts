import type { ClientParts } from "../client.js";
import type { AcquireSettings } from "../core/acquire/settings.js";
import { requireCapability } from "../core/record/capability.js";
import type { HoldfastError } from "../errors.js";
import type { Duration } from "../internal/duration.js";
import { checkNames, type OptionNames, refuse } from "../internal/option-names.js";
import { settingsOf } from "../locks/locking.js";
import { RUNS } from "../native/native-runs.js";

/** Options of {@link coalesce} and {@link runOwed}. */
export interface CoalesceOptions {
  /** How long the run of a dead process blocks the next run. A live process renews the lease. Default: the client's. */
  readonly lease?: Duration | undefined;
  /** The label for people. Default: the client's owner. */
  readonly owner?: string | undefined;
}

const COALESCE_NAMES: OptionNames<CoalesceOptions> = { lease: true, owner: true };

/** Resolves the options of a call into the settings of its run. Throws `invalid-argument`. */
export function resolveCoalesce(
  caller: string,
  { context, clientOptions, defaultOwner }: ClientParts,
  options: CoalesceOptions,
): AcquireSettings {
  const { lease, owner } = checkNames(caller, options, COALESCE_NAMES);
  const { lease: clientLease, poll } = clientOptions;
  // With the default period: the client's own may be too long for this lease, or leave the renewals to its user.
  const renew = lease === undefined ? clientOptions.renew : undefined;
  const layers = [
    { wait: 0, lease, owner },
    { lease: clientLease, renew, poll },
  ];
  const settings = settingsOf(context, layers, defaultOwner, undefined);
  if (settings.renewMs === "manual") throw manual(caller);
  return {
    ...settings,
    // A run can store how far it got.
    existingData: "keep",
    keepData: true,
    // A call must not wait behind those who wait for the lock.
    passage: { kind: "barge" },
    attributes: requireCapability(context.format, RUNS).granted(context.wallMs()),
  };
}

function manual(caller: string): HoldfastError {
  return refuse(
    `${caller} renews the lease of a run by itself, and its client has \`renew: "manual"\`. Give the call a \`lease\`.`,
  );
}
