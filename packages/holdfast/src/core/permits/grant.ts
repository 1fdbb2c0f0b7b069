import { PERMITS } from "../../native/native-permits.js";
import { AGAIN } from "../../platform/retry.js";
import { isJudged, type WriteAnswer } from "../../platform/table.js";
import { GrantRetry } from "../acquire/grant-retry.js";
import type { Contending, Granted } from "../acquire/settings.js";
import type { ClaimTurn } from "../admission.js";
import type { Shown } from "../context.js";
import { Hold } from "../hold/hold.js";
import { freeOnce } from "../hold/release.js";
import { requireCapability } from "../record/capability.js";
import type { RecordRef } from "../record/format.js";
import type { PermitGrant } from "../record/permit-writes.js";
import type { AbsentRecord, SharedRecord } from "../record/permits.js";
import { KEEP } from "../table-access.js";
import { unreadable } from "../unavailable.js";
import { isTooLarge } from "./no-room.js";
import type { Wish } from "./wish.js";

/**
 * The result of an attempt to get a permit. `silent`: DynamoDB did not answer in the first half of the session's
 * length.
 */
type PermitAnswer =
  | { readonly kind: "granted"; readonly granted: Granted }
  | { readonly kind: "refused"; readonly record: AbsentRecord | SharedRecord }
  | { readonly kind: "silent" };

/**
 * Sends one grant of a permit until DynamoDB answers. Every send is the same request under the same id, so DynamoDB
 * grants it at most once. An attempt without a permit is withdrawn in the background: no late copy is granted.
 */
export class PermitGrantWrite {
  readonly #contending: Contending;
  readonly #wish: Wish;
  readonly #grant: PermitGrant;

  /** `limit`: what the record must have; a record without a limit gets it, if it is the caller's own. */
  constructor(contending: Contending, wish: Wish, limit: number) {
    this.#contending = contending;
    this.#wish = wish;
    const { context, ref, settings } = contending;
    const { weight, life } = wish;
    const wallMs = context.wallMs();
    this.#grant = {
      ...{ holder: context.random.id(), weight, limit, isStored: limit !== wish.limit, wallMs },
      ...{ session: life.id, leaseMs: life.leaseMs, owner: settings.owner },
      ...{ fenceSeed: context.fenceSeed(ref), passage: settings.passage },
      oldMarks: wish.marks.removable(ref.id, wallMs),
    };
  }

  /** Rejects with the error of the cancellation, of an unreadable record (R12) or of a wrong configuration. */
  async run(turn: ClaimTurn): Promise<PermitAnswer> {
    const { context, ref, cancellation } = this.#contending;
    const { holder } = this.#grant;
    const repetition = new GrantRetry(this.#contending, turn);
    const write = requireCapability(context.format, PERMITS).grant(ref, this.#grant);
    context.ownPermits.add(holder);
    let sends = 0;
    return repetition.run<WriteAnswer, PermitAnswer>({
      send: (timeoutMs) => {
        sends += 1;
        return context.claim(write, repetition.start, timeoutMs, cancellation.signal);
      },
      judge: (sent) => {
        if (sent.kind === "applied") repetition.countApplied();
        const wasRepeated = sends > 1 || sent.kind === "refused";
        return this.#verdictOn(sent, wasRepeated, repetition);
      },
      undo: () => {
        context.abandon(holder);
        if (repetition.unanswered > 0) this.#withdraw();
      },
    });
  }

  #verdictOn(answer: Shown, wasRepeated: boolean, repetition: GrantRetry): PermitAnswer {
    const { context, ref, settings, cancellation } = this.#contending;
    const { weight, life } = this.#wish;
    const { holder } = this.#grant;
    const permits = requireCapability(context.format, PERMITS);
    const wasGranted = permits.has(answer.item, holder);
    const record = sharedRecord(this.#contending, answer, "strong", wasGranted);
    this.#wish.onSeen(record);
    freeStrays(this.#contending, record, life);
    const permit = record.state === "shared" && record.permits.find((one) => one.holder === holder);
    if (permit === false || permit === undefined) return { kind: "refused", record };
    repetition.countFound();
    if (cancellation.isStopped) throw cancellation.error();
    // The session may have ended since the send. Another client can then remove the permit at once.
    if (!life.isHeld) return { kind: "refused", record };
    const own = permits.permitOf(ref, { holder, weight, leavesMark: wasRepeated });
    const held = context.format.codec.read(answer.item, own);
    if (held.state !== "held")
      throw new Error("The record of a granted permit must have the permit.");
    const { start } = repetition;
    const hold = new Hold(context, own, context.localQueues.alone(ref.id), {
      record: held,
      start,
      settings,
    });
    life.keep(hold);
    return { kind: "granted", granted: { hold, record: held, how: "claim" } };
  }

  #withdraw(): void {
    withdraw(this.#contending, this.#grant, this.#wish.life);
  }
}

const NO_ROOM: WriteAnswer = Object.freeze({ kind: "refused", item: undefined });

/** Ends an attempt for good: removes its permit, if granted, and leaves a mark that refuses every later copy. */
export function withdraw(
  { context, ref }: Pick<Contending, "context" | "ref">,
  grant: PermitGrant,
  life: Wish["life"],
): void {
  const { holder, weight } = grant;
  const permits = requireCapability(context.format, PERMITS);
  const own = permits.permitOf(ref, { holder, weight, leavesMark: true });
  life.untilAnswered(async () => {
    // Dated anew for each send, as every write that may create a record (R10).
    const dates = { wallMs: context.wallMs(), fenceSeed: context.fenceSeed(ref) };
    const mark = permits.withdraw(ref, { ...grant, ...dates });
    const marked = await context.write(mark);
    // A record without room for the mark has none for a late copy, and one that lands later is freed as an unused permit.
    if (marked.kind === "misconfigured" && isTooLarge(marked.error)) return NO_ROOM;
    if (marked.kind !== "refused" || !permits.has(marked.item, holder)) return marked;
    const freed = await freeOnce(context, own, { maybe: [holder] }, { keepData: false });
    // Another client has removed the permit meanwhile, and has left no mark.
    return freed.kind === "refused" ? AGAIN : freed;
  });
}

/**
 * Reads a record with permits from an answer, and notes its queue. Throws the errors of an unreadable record (R12).
 * `wasGranted`: the record has a permit of this attempt, which the client takes back.
 */
export function sharedRecord(
  { context, ref }: Pick<Contending, "context" | "ref">,
  answer: Shown,
  consistency: "strong" | "eventual" = "strong",
  wasGranted = false,
): AbsentRecord | SharedRecord {
  context.seeRecord(ref, answer, consistency);
  const permits = requireCapability(context.format, PERMITS);
  const record = permits.readAll(answer.item);
  if (record.state !== "absent" && record.state !== "shared") {
    throw unreadable(ref, record, context.format.name, wasGranted);
  }
  return record;
}

/**
 * Frees the permits of this session that no part of this client uses: a copy of an answered request granted them again.
 */
export function freeStrays(
  { context, ref }: { readonly context: Contending["context"]; readonly ref: RecordRef },
  record: AbsentRecord | SharedRecord,
  life: Wish["life"],
): void {
  if (record.state === "absent") return;
  for (const { holder, fence, weight, session } of record.permits) {
    if (session !== life.id || context.ownPermits.has(holder)) continue;
    // A single removal is enough: it leaves a mark, so DynamoDB refuses further copies of the grant.
    context.ownPermits.add(holder);
    const permits = requireCapability(context.format, PERMITS);
    const stray = permits.permitOf(ref, { holder, weight, leavesMark: true });
    const from = { known: { holder, fence } };
    life.untilAnswered(async () => {
      const answer = await freeOnce(context, stray, from, { keepData: false });
      if (isJudged(answer)) context.ownPermits.delete(holder);
      return answer;
    });
  }
}

/**
 * Reads a record that a waiter has asked the session about, and frees the permits that no part of this client uses.
 * Resolves to whether DynamoDB answered.
 */
export async function checkPermits(
  { context, ref }: Pick<Contending, "context" | "ref">,
  life: Wish["life"],
): Promise<boolean> {
  const read = { key: ref.key, consistent: true };
  const answer = await context.read(read, undefined, undefined, KEEP);
  if (answer.kind !== "found") return false;
  const record = PERMITS.of(context.format)?.readAll(answer.item);
  // A record that cannot be read is left alone: the note is about it, and not the caller of an acquisition.
  if (record?.state === "shared") freeStrays({ context, ref }, record, life);
  return true;
}
