import type { AcquireContext } from "../core/acquire/context.js";
import { rising } from "../core/backoff.js";
import { requireCapability } from "../core/record/capability.js";
import { checkName } from "../core/record/name.js";
import { titleOf, unavailableError, unreadable } from "../core/unavailable.js";
import { checkPermits } from "../locks/semaphore.js";
import { type NoAnswer, retry } from "../platform/retry.js";

const ATTEMPTS = 4;
const PAUSE_MS = 200;

/** What {@link Admin.setLimit} found. */
export interface LimitChange {
  /** The limit before; undefined if the semaphore had none. */
  readonly before: number | undefined;
  readonly limit: number;
  /** What the permits weigh that are held now; may be above the new limit. */
  readonly used: number;
}

/** Changes the limit of a semaphore. A repeated write has the same effect, so the client may send it again. */
export async function setLimit(
  context: AcquireContext,
  name: string,
  limit: number,
): Promise<LimitChange> {
  checkPermits(limit);
  const permits = requireCapability(context.format, "permits");
  const ref = context.format.codec.refOf("semaphore", checkName(name));
  const { requestTimeoutMs } = context.settings;
  const look = await answered(context, name, () =>
    context.read({ key: ref.key, consistent: true }, requestTimeoutMs),
  );
  const before = permits.readAll(look.item);
  // The condition of the write cannot tell whether every attribute is readable.
  if (before.state !== "absent" && before.state !== "shared") {
    throw unreadable(name, before, context.format.name);
  }
  const options = { fenceSeed: context.fenceSeed(ref), wallMs: context.wallMs() };
  const written = await answered(context, name, () =>
    context.write(permits.setLimit(ref, limit, options), requestTimeoutMs),
  );
  const after = permits.readAll(written.item);
  if (written.kind === "refused" || after.state !== "shared") {
    const found = after.state === "foreign" || after.state === "unsupported" ? after : UNKNOWN;
    throw unreadable(name, found, context.format.name);
  }
  const known = before.state === "shared" ? before.limit : undefined;
  return { before: known, limit, used: after.used };
}

const UNKNOWN = { state: "foreign", found: "has another layout" } as const;

async function answered<A extends { readonly kind: string }>(
  context: AcquireContext,
  name: string,
  ask: () => Promise<A>,
) {
  let left = ATTEMPTS;
  const retried = await retry(context, ask, {
    backoff: rising(PAUSE_MS),
    onNoAnswer: (answer: NoAnswer) => {
      left -= 1;
      if (left > 0) return;
      throw unavailableError(
        name,
        "has perhaps its old limit",
        answer,
        titleOf([name], "semaphore"),
      );
    },
  });
  if (retried.kind !== "answered") throw new Error("A request ends only after its attempts.");
  return retried.answer;
}
