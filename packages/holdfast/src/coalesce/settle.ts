import { steady } from "../core/backoff.js";
import type { Hold } from "../core/hold/hold.js";
import { lossIn } from "../core/hold/loss.js";
import { RELEASE_RETRY_MS, releaseNotAcknowledged } from "../core/hold/release.js";
import { freeEarly } from "../core/hold/writes.js";
import { requireCapability } from "../core/record/capability.js";
import { type Found, type HeldRecord, pendingIn } from "../core/record/record.js";
import { GIVE_UP } from "../core/table-access.js";
import { RUNS } from "../native/native-runs.js";
import { AGAIN, type NoAnswer, retry } from "../platform/retry.js";
import type { WriteAnswer } from "../platform/table.js";
import type { Run } from "./contend.js";

/**
 * How a run ended. `settled`: the record is free, and names what the run covered. `owed`: there was a call since, and the
 * record still has the holder of this run. `interrupted`: as `owed`, and another caller has interrupted this holder.
 * `lost`: the record does not show that this run has ended as a holder.
 */
export type Settled =
  | { readonly kind: "settled" | "lost" }
  | { readonly kind: "owed" | "interrupted"; readonly number: bigint };

/**
 * Ends a run: frees the record on condition that there was no call since the grant, so that no call is lost between a last
 * look and the release. The lease ends in this process first, and no answer revives it (R2). Retries for the length of the
 * lease; rejects as a release if no write is acknowledged.
 */
export async function settle(
  { hold, covered }: Run,
  onNoAnswer: (answer: NoAnswer) => void,
): Promise<Settled> {
  const { context, ref, held, settings } = hold;
  if (!hold.beginRelease()) {
    await freeEarly(hold, settings.keepData);
    return { kind: "lost" };
  }
  // `close()` tells of a release without an answer.
  context.releasing.add(hold);
  const untilMs = context.nowMs() + hold.leaseMs;
  let mayHaveWritten = false;
  const settled = hold.requests.run(async () => {
    const attempt = async () => {
      const answer = context.healing(await settleOnce(hold, covered));
      if (answer.kind === "applied") return { kind: "settled" } as const;
      if (answer.kind !== "refused") return answer;
      const found = context.see(ref, answer, "strong");
      const isOurs = found.state === "held" && lossIn(found, held) === undefined;
      // No other condition than the number can have been false.
      if (isOurs) return found.calls === covered ? AGAIN : owed(found);
      const isOwn = mayHaveWritten || answer.isRepeated === true || isFreedBy(held.holder, found);
      if (isOwn && hasRun(found, covered)) return { kind: "settled" } as const;
      const reason = lossIn(found, held);
      if (reason !== undefined) hold.lostBeforeRelease(reason);
      // A delayed copy of its claim may still be applied.
      context.abandon(held.holder);
      return { kind: "lost" } as const;
    };
    const retried = await retry(context, attempt, {
      backoff: context.patient(steady(RELEASE_RETRY_MS)),
      isOver: () => context.nowMs() >= untilMs,
      onNoAnswer: (answer) => {
        mayHaveWritten ||= answer.kind === "unknown";
        onNoAnswer(answer);
      },
    });
    if (retried.kind === "answered") {
      if (retried.answer.kind === "settled") context.rings?.freed(ref);
      return retried.answer;
    }
    throw releaseNotAcknowledged(ref, retried.last, false);
  });
  return settled.finally(() => context.releasing.delete(hold));
}

async function settleOnce(hold: Hold, covered: bigint): Promise<WriteAnswer> {
  const { context, ref, held, leaseMs } = hold;
  const slice = context.releases(false);
  if (slice !== undefined) await slice;
  const mark = context.format.facts.freeNeedsMark ? context.random.id() : "";
  const write = requireCapability(context.format, RUNS).settle(ref, held, covered, {
    ...{ keepData: true, lastHolder: held.holder, wallMs: context.wallMs(), mark },
    hasRings: context.rings !== undefined,
  });
  const answer = await context.write(write, context.timeoutWithin(leaseMs), undefined, GIVE_UP);
  if (answer.kind === "applied") {
    context.see(ref, answer, "strong");
    context.observations.freed(ref.id, context.nowMs());
  }
  return answer;
}

function owed(found: HeldRecord): Settled {
  const isInterrupted = pendingIn(found)?.kind === "interrupt";
  return { kind: isInterrupted ? "interrupted" : "owed", number: found.calls ?? 0n };
}

function isFreedBy(holder: string, found: Found): boolean {
  return found.state === "free" && found.lastHolder === holder;
}

function hasRun(found: Found, covered: bigint): boolean {
  return "ran" in found && (found.ran ?? 0n) >= covered;
}
