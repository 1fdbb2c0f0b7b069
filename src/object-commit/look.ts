import type { CommitTarget } from "../formats/object-commit.js";
import type { ObjectHead } from "../platform/s3/objects.js";
import type { NotNow, Unknown } from "../platform/table.js";
import { type Around, callWithin, type Limit, Pauses } from "./around.js";
import { isMet } from "./decide.js";
import { onNoResponse, unmet } from "./errors.js";

/** What a look at an object showed; `trouble` when it showed nothing until the limit was over. */
export type Looked =
  | { readonly kind: "seen"; readonly head: ObjectHead | undefined }
  | { readonly kind: "trouble"; readonly trouble: Unknown | NotNow };

/** Looks at an object until an answer comes: one HEAD, more only where they fail. Throws what never will do. */
export async function look(around: Around, key: string, limit: Limit): Promise<Looked> {
  const pauses = new Pauses(around, limit);
  for (;;) {
    const call = callWithin(limit, around.settings.requestTimeoutMs);
    const answer = await around.objects.head(key, call);
    if (answer.kind === "found") return { kind: "seen", head: answer.head };
    if (answer.kind === "absent") return { kind: "seen", head: undefined };
    if (answer.kind === "misconfigured") throw answer.error;
    await pauses.wait();
    if (limit.remainingMs() <= 0) return { kind: "trouble", trouble: answer };
  }
}

/**
 * Looks whether the object is as the caller demands, and throws `already-exists` or
 * `precondition-failed` where it is not; `unreachable` or `throttled` where nobody says.
 */
export async function expectMet(around: Around, target: CommitTarget, limit: Limit): Promise<void> {
  const looked = await look(around, target.key, limit);
  if (looked.kind === "trouble") {
    limit.signal?.throwIfAborted();
    throw onNoResponse(target, "object store", looked.trouble);
  }
  if (!isMet(target, looked.head)) throw unmet(target, looked.head);
}
