import type { ForceReleaseResult, HolderKind } from "../../admin/index.js";
import type { Holdfast } from "../../index.js";

/** A forced release that a viewer confirmed. */
export interface ReleaseAsked {
  readonly kind: HolderKind;
  readonly name: string;
  readonly namespace?: string | undefined;
  readonly reason: string;
}

/** The answer of the server to the page after a forced release. */
export interface ReleaseAnswer {
  readonly isFree: boolean;
  readonly owner?: string | undefined;
  readonly successor?: string | undefined;
}

export type Releaser = (asked: ReleaseAsked) => Promise<ReleaseAnswer>;

/** Reads the body of a request. Undefined unless the body has a reason, and repeats the name as confirmation. Pure. */
export function releaseBody(text: string): ReleaseAsked | undefined {
  let body: Record<string, unknown>;
  try {
    body = Object(JSON.parse(text));
  } catch {
    return undefined;
  }
  const { kind = "lock", name, namespace, reason, confirm } = body;
  if (kind !== "lock" && kind !== "leader") return undefined;
  if (typeof name !== "string" || name === "" || confirm !== name) return undefined;
  if (typeof reason !== "string" || reason.trim() === "") return undefined;
  if (namespace !== undefined && typeof namespace !== "string") return undefined;
  return { kind, name, namespace, reason };
}

/** Returns a function that asks a holder to release. Does not wait for the holder: the page shows a later release. */
export function releaserOf(locks: Holdfast): Releaser {
  return async ({ kind, name, namespace, reason }) => {
    const options = { kind, namespace, reason, wait: 0 };
    return answerOf(await locks.admin.forceRelease(name, options));
  };
}

function answerOf({ isFree, owner, holder, successor }: ForceReleaseResult): ReleaseAnswer {
  return {
    isFree,
    owner: owner ?? holder,
    successor: successor === undefined ? undefined : (successor.owner ?? successor.holder),
  };
}
