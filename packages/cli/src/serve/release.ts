import type { Holdfast } from "holdfast";
import {
  type ForceReleaseResult,
  forceRelease,
  type HolderKind,
  type PermitKind,
} from "holdfast/admin";
import { isPermitKind } from "../output/permits.js";

/** A forced release that a viewer confirmed: of a lock or leadership, or of one permit. */
type ReleaseAsked =
  | {
      readonly kind: HolderKind;
      readonly name: string;
      readonly namespace?: string | undefined;
      readonly reason: string;
    }
  | {
      readonly kind: PermitKind;
      readonly name: string;
      readonly holder: string;
      readonly reason: string;
    };

/** The answer of the server to the page after a forced release. */
interface ReleaseAnswer {
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
  const { kind = "lock", name, namespace, holder, reason, confirm } = body;
  const texts = [name, namespace, holder, reason].filter((one) => one !== undefined);
  // Half of a pair: it would be stored as another character.
  if (texts.some((one) => typeof one !== "string" || /\p{Surrogate}/u.test(one))) return undefined;
  if (typeof name !== "string" || name === "" || confirm !== name) return undefined;
  if (typeof reason !== "string" || reason.trim() === "") return undefined;
  if (typeof kind === "string" && isPermitKind(kind)) {
    // Without a holder it would be open which of several permits is meant.
    if (typeof holder !== "string" || holder === "" || namespace !== undefined) return undefined;
    return { kind, name, holder, reason };
  }
  if (kind !== "lock" && kind !== "leader") return undefined;
  if (namespace !== undefined && typeof namespace !== "string") return undefined;
  return { kind, name, namespace, reason };
}

/** Returns a function that asks a holder to release. Does not wait for the holder: the page shows a later release. */
export function releaserOf(locks: Holdfast): Releaser {
  return async (asked) => {
    const { name, reason } = asked;
    const how = { reason, wait: 0 };
    return answerOf(
      "holder" in asked
        ? await forceRelease(locks, name, { kind: asked.kind, holder: asked.holder, ...how })
        : await forceRelease(locks, name, {
            ...{ kind: asked.kind, namespace: asked.namespace },
            ...how,
          }),
    );
  };
}

function answerOf({ isFree, owner, holder, successor }: ForceReleaseResult): ReleaseAnswer {
  return {
    isFree,
    owner: owner ?? holder,
    successor: successor === undefined ? undefined : (successor.owner ?? successor.holder),
  };
}
