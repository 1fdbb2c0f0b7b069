import type { AcquireSettings, Asker, Contending } from "../core/acquire/settings.js";
import { Retries, unlessUnserved, untilAnswered } from "../core/acquire/until-answered.js";
import { requireCapability } from "../core/record/capability.js";
import type { LeaseFormat } from "../core/record/format.js";
import type { KnownRecord, ObservedHeld } from "../core/record/observation.js";
import type { Asked, HeldRecord, Passage } from "../core/record/record.js";
import { TO_SESSION } from "../core/remote-sessions.js";
import { phraseOf } from "../core/unavailable.js";
import { HoldfastError } from "../errors.js";
import { shown } from "../internal/shown.js";
import { REQUESTS } from "../native/native-requests.js";
import type { Write } from "../platform/table.js";

/** What a waiter tells each holder that it meets: {@link interrupt} or {@link announce}. */
export interface IfHeld {
  readonly kind: "interrupt" | "announce";
}

/** The part of an {@link IfHeld} that the lock uses: a program that imports none carries none of its code. */
export interface AsksHolder extends IfHeld {
  /** Returns what changes in the settings of the waiter. Throws `invalid-argument` for a format without requests. */
  settings(format: LeaseFormat): Partial<AcquireSettings>;
}

/**
 * For the option `ifHeld` of a mutex: the waiter tells each holder that it meets to stop. The holder's signal aborts with
 * `interrupted`, and its lease is renewed no more; the waiter passes the queue, and gets the lock after the release or
 * when the lease ends, never before. Of several such waiters the newest, the one that asked last, wins: an earlier one
 * rejects with `interrupted`. After the release, a new call that waits, of a process that has seen the interruption, lets
 * this waiter go first: it pauses for its longest `poll`, but at most for half of what is left of its wait. Costs one write
 * for each holder, and a second one if a session keeps the holder alive. Needs native records.
 */
export const interrupt: IfHeld = /* @__PURE__ */ Object.freeze<AsksHolder>({
  kind: "interrupt",
  // Each holder that the waiter let first would only be interrupted in its turn, so it does not queue.
  settings: (format) => ({
    ...asking(format, "interrupt"),
    queueing: undefined,
    passage: { kind: "asker", number: undefined },
  }),
});

/**
 * For the option `ifHeld` of a mutex: the waiter tells each holder of another process that it waits, which `wanted(lease)`
 * shows. Nothing else changes. Costs the writes of {@link interrupt}. Needs native records.
 */
export const announce: IfHeld = /* @__PURE__ */ Object.freeze<AsksHolder>({
  kind: "announce",
  settings: (format) => asking(format, "announce"),
});

function asking(format: LeaseFormat, kind: IfHeld["kind"]): Pick<AcquireSettings, "asks"> {
  requireCapability(format, REQUESTS, "the option `ifHeld`");
  return { asks: (waiter) => new HolderAsker(waiter, kind) };
}

/**
 * Asks each holder that one waiter meets, once. A waiter that interrupts has a number in the record, higher than those of
 * earlier ones: so the newest wins, and an earlier one gives up as soon as it sees a later number.
 */
class HolderAsker implements Asker {
  readonly #waiter: Contending;
  readonly #kind: IfHeld["kind"];
  /** What DynamoDB has not served yet. */
  #note: Write | undefined;
  #retries: Retries | undefined;
  /** The last holder that was asked. */
  #holder: string | undefined;
  /** The number of this waiter; undefined until DynamoDB has acknowledged a request with a number. */
  #asked: { readonly number: bigint; readonly by: string } | undefined;

  constructor(waiter: Contending, kind: IfHeld["kind"]) {
    this.#waiter = waiter;
    this.#kind = kind;
  }

  get passage(): Passage | undefined {
    if (this.#kind === "announce") return this.#waiter.settings.passage;
    return { kind: "asker", number: this.#asked?.number };
  }

  check(record: KnownRecord | undefined): void {
    if (this.#asked === undefined) return;
    if ((record?.asked?.number ?? 0n) > this.#asked.number) throw this.#superseded();
  }

  async ask(record: ObservedHeld): Promise<boolean> {
    if (record.holder === this.#holder) {
      await this.#tell();
      return false;
    }
    if (this.#kind === "announce") await this.#request(record, undefined);
    else await this.#interrupt(record);
    return true;
  }

  /** Raises the number in the record until no other waiter has the same. */
  async #interrupt({ holder, asked }: ObservedHeld): Promise<void> {
    const by = this.#asked?.by ?? this.#waiter.context.random.id();
    let number = this.#asked?.number ?? (asked?.number ?? 0n) + 1n;
    for (;;) {
      const { record, isLost } = await this.#request({ holder }, { number, by });
      const found = record.state === "absent" ? undefined : record.asked;
      if (found?.by === by && found.number === number) {
        this.#asked = { number, by };
        return;
      }
      const isLater = found !== undefined && found.number >= number;
      // A request without an answer may have given this waiter the number: then the other one came later.
      if (isLater && (this.#asked !== undefined || isLost)) throw this.#superseded();
      // Another holder, or one with a stronger request, which ends it, too.
      if (!isLater || record.state !== "held" || record.holder !== holder) return;
      number = found.number + 1n;
    }
  }

  async #request({ holder }: Pick<ObservedHeld, "holder">, asked: Asked | undefined) {
    const { context, ref, settings } = this.#waiter;
    const kind = asked === undefined ? "want" : "interrupt";
    const requests = requireCapability(context.format, REQUESTS);
    const write = requests.ask(ref, { kind, holder, by: settings.owner }, asked);
    let sends = 0;
    const send = () => {
      sends += 1;
      return context.write(write, undefined, this.#waiter.cancellation.signal);
    };
    const pauseMs = settings.retryMs;
    const answer = await untilAnswered(this.#waiter, { pauseMs }, send);
    const record = context.seeRecord(ref, answer, "strong");
    this.#holder = holder;
    this.#note = undefined;
    if (record.state === "held" && record.holder === holder) await this.#deliver(record);
    const isRepeated = answer.kind === "refused" && answer.isRepeated === true;
    return { record, isLost: sends > 1 || isRepeated };
  }

  /** A holder on a session does not read its record, and a holder of this client need not wait for its renewal. */
  async #deliver(record: HeldRecord): Promise<void> {
    const { context } = this.#waiter;
    const own = context.holds.ofHolder(record.holder);
    if (own !== undefined) {
      own.hear(record);
      return;
    }
    context.rings?.asked(record);
    if (record.session === undefined) return;
    const session = context.format.codec.refOf("session", record.session);
    this.#note = requireCapability(context.format, REQUESTS).notify(session, record.holder);
    this.#retries = new Retries(this.#waiter);
  }

  /** Sends the note to the holder's session. Unless DynamoDB serves it, a later poll sends it again. */
  async #tell(): Promise<void> {
    const { context, cancellation } = this.#waiter;
    const note = this.#note;
    if (note === undefined || this.#retries?.isDue === false) return;
    const sent = await context.write(note, undefined, cancellation.signal, TO_SESSION);
    if (unlessUnserved(this.#waiter, sent) === undefined) this.#retries?.putOff();
    else this.#note = undefined;
  }

  #superseded(): HoldfastError {
    const { context, ref } = this.#waiter;
    const by = context.observations.held(ref.id)?.request;
    const who = by?.kind === "interrupt" ? shown(by.by) : "a later caller";
    return new HoldfastError(
      "interrupted",
      `The wait for ${phraseOf(ref)} ended: ${who} asked for it later, with \`ifHeld: interrupt\`, and the newest wins.`,
      { lockName: ref.name },
    );
  }
}
