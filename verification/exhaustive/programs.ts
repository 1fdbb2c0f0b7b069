import { AsyncLocalStorage } from "node:async_hooks";
import { forceRelease } from "../../packages/holdfast/src/admin/index.js";
import {
  type AcquireOptions,
  adoptLease,
  all,
  type Duration,
  downgrade,
  exportLease,
  fairLock,
  type Inspection,
  isHoldfastError,
  type Json,
  type Lease,
  type Lock,
  mutex,
  openSession,
  readLock,
  type Session,
  semaphore,
  writeLock,
} from "../../packages/holdfast/src/index.js";
import { inMs } from "../../packages/holdfast/src/internal/duration.js";
import { type Keep, keepFor } from "../../packages/holdfast/src/keep/index.js";
import {
  announce,
  type IfHeld,
  interrupt,
  listen,
  shield,
  wanted,
} from "../../packages/holdfast/src/requests/index.js";
import { type SeededRandom, seededRandom } from "../../packages/testing/src/time/seeded-random.js";
import { grantFenceOf, noteUse } from "../sim/world/operations/keeping.js";
import type { Actor } from "./actor.js";
import { LEASE_MS, POLL } from "./choices.js";
import { Data, DataOfLease, textOfData } from "./data.js";
import {
  act,
  begin,
  type Held,
  heldOf,
  noteReleased,
  UNACKNOWLEDGED,
  UNREADABLE_CODES,
  WAIT_MS,
  WRITER,
} from "./holding.js";
import type { Kind } from "./kinds.js";
import { Tasks, TaskWork } from "./tasks.js";

/** The locks of a program in their order: who holds one waits only for later ones. */
const NAMES = ["x", "y", "s", "d"] as const;
type Name = (typeof NAMES)[number];
type OfPermits = "s" | "d";

/** What the processes of a program agree on. */
interface Plan {
  readonly seed: number;
  readonly names: readonly Name[];
  readonly fair: ReadonlySet<Name>;
  /** That of the lock "y", if it is fair. */
  readonly namespace: string | undefined;
  /** Whether tries pass those who wait. */
  readonly barges: boolean;
  readonly limit: number;
  readonly keep: Keep;
  readonly onSession: boolean;
  readonly data: Data;
  readonly tasks: Tasks;
  /** Where the two newcomers meet, at each lock. */
  readonly meetings: ReadonlyMap<Name, ReturnType<typeof meeting>>;
}

/**
 * Returns the random program of a seed, for one run: what each of its processes does, so that options and calls meet which no
 * other kind combines.
 */
export function programOf(seed: number): Kind & { readonly name: `program-${number}` } {
  const random = seededRandom(seed);
  const names = NAMES.filter((name) => name === "x" || random.chance(0.4));
  const plan: Plan = {
    ...{ seed, names, data: new Data() },
    fair: new Set(names.filter((name) => isOfPermits(name) || random.chance(0.4))),
    namespace: random.chance(0.3) ? "of its own" : undefined,
    barges: random.chance(0.2),
    limit: random.integer(1, 3),
    keep: keepFor(inMs(random.integer(200, 2_000))),
    onSession: random.chance(0.3),
    tasks: new Tasks(random.chance(0.5)),
    meetings: new Map(names.map((name) => [name, meeting()])),
  };
  return {
    name: `program-${seed}`,
    isProgram: true,
    onSession: plan.onSession,
    queues: [...plan.fair],
    record: "lock#x",
    work: (self) => new Program(self, plan).run(),
  };
}

function meeting() {
  return { held: moment(), done: moment() };
}

/** Something that happens once, and for which others wait. */
function moment() {
  let resolve = (): void => undefined;
  const promise = new Promise<void>((settle) => {
    resolve = settle;
  });
  return { promise, resolve: () => resolve() };
}

function isOfPermits(name: Name): name is OfPermits {
  return name === "s" || name === "d";
}

/** One acquisition, as drawn. */
interface Draw {
  readonly lock: Lock;
  /** The names of the locks, in their order. */
  readonly names: readonly [Name, ...Name[]];
  readonly maxHoldMs: number | undefined;
  readonly keep: Keep | undefined;
  readonly isReentrant: boolean;
  /** The process renews the lease by hand. */
  readonly isManual: boolean;
  readonly isOnSession: boolean;
  /** Only for a single lock without permits. */
  readonly asks: { readonly ifHeld?: IfHeld };
  readonly given: {
    readonly data?: unknown;
    readonly weight?: number;
    readonly existingData?: "keep";
    readonly keepData?: boolean;
  };
}

/** A lease in the hands of a process. */
interface Grip extends Draw {
  readonly lease: Lease;
  readonly held: Held;
  /** Undefined if the lease has no data. */
  readonly data: DataOfLease | undefined;
}

/** The work of one process. */
class Program {
  readonly #self: Actor;
  readonly #plan: Plan;
  readonly #random: SeededRandom;
  readonly #tasks: TaskWork;
  #opening: Promise<Session> | undefined;
  #rounds = 0;

  constructor(self: Actor, plan: Plan) {
    this.#self = self;
    this.#plan = plan;
    this.#random = seededRandom(plan.seed * 31 + self.name.charCodeAt(0));
    this.#tasks = new TaskWork(
      ...[self, plan.tasks, this.#random.fork()],
      (error, more) => this.#codeOf(error, more),
      () => this.#round([], false),
    );
  }

  async run(): Promise<void> {
    if (["n", "m"].includes(this.#self.name)) {
      await this.#useEach();
      return this.#self.name === "n" ? this.#tasks.last() : undefined;
    }
    const random = this.#random;
    for (let left = random.integer(1, 3); left > 0; left -= 1) {
      if (random.chance(0.1)) await this.#force();
      else if (random.chance(0.3)) await this.#tasks.any();
      // Two calls of one client at the same time.
      else if (random.chance(0.2)) await Promise.all([this.#round([]), this.#round([])]);
      else await this.#round([]);
      await this.#self.sleep(random.integer(0, 300));
    }
    // The end of a session does not wait for a permit that is being granted, which then stays until a waiter finds it dead.
    if (random.chance(0.2) && !this.#plan.names.some(isOfPermits)) {
      const last = random.chance(0.3) ? this.#tasks.any() : this.#round([]);
      await this.#self.sleep(random.integer(0, 1_500));
      this.#self.endsLeases = true;
      this.#self.closes = true;
      this.#tasks.gone();
      await Promise.all([last, this.#expecting(() => this.#self.locks.close())]);
    }
    await this.#closeSession();
  }

  async #closeSession(): Promise<void> {
    const opening = this.#opening;
    this.#opening = undefined;
    this.#self.endsLeases = true;
    await this.#expecting(async () => (await opening)?.close());
  }

  /** Asks the holder of a lock to release it, as an operator does. */
  async #force(): Promise<void> {
    const name = this.#plan.names.includes("y") ? "y" : "x";
    const now = this.#random.chance(0.3);
    this.#self.note({ kind: "forces", name, isNow: now });
    try {
      const { fair, namespace } = this.#plan;
      const of = name === "y" && fair.has(name) ? { namespace } : {};
      const asked = await forceRelease(this.#self.locks, name, { reason: "a drill", now, ...of });
      const { holder, wasDead } = asked;
      if (holder !== undefined && !wasDead) this.#self.note({ kind: "forced", name, holder });
    } catch (error) {
      this.#codeOf(error, ["not-acquired"]);
    }
  }

  /**
   * A newcomer gets each lock in turn, and all of its permits. The second asks while the first holds it, and so removes what
   * is left in the queue.
   */
  async #useEach(): Promise<void> {
    for (const name of this.#plan.names) {
      const lock = this.#one(name, {}, WRITER);
      const given = name === "s" ? { weight: this.#plan.limit } : {};
      const draw = { ...PLAIN, names: [name], lock, given } as const;
      const isFirst = this.#self.name === "n";
      const { held, done } = this.#plan.meetings.get(name) ?? meeting();
      if (!isFirst) await held.promise;
      const lease = await this.#acquire(draw, WAIT_MS, undefined);
      held.resolve();
      const grip = this.#begin(draw, lease, true);
      await act(this.#self, grip.held, 500);
      await this.#end(grip);
      if (!isFirst) done.resolve();
      else {
        if (this.#plan.fair.size > 0) await done.promise;
        if (!isOfPermits(name)) await this.#expectKept(name, lock);
      }
    }
  }

  /** Nobody else uses a lock any more: each try is granted, and finds what the release before has kept, or nothing. */
  async #expectKept(name: Name, lock: Lock): Promise<void> {
    for (const [data, keepData, expected] of [
      ["first", true, "first"],
      ["second", false, "first"],
      ["third", false, "third"],
    ] as const) {
      const existing = data === "first" ? {} : ({ existingData: "keep" } as const);
      const given = { data, keepData, ...existing };
      this.#plan.data.mayWrite(name, data);
      const lease = await lock.tryAcquire(given);
      if (lease === null) return this.#self.stage.fail("no orphan", `a try got no "${name}"`);
      const grip = this.#begin({ ...PLAIN, names: [name], lock, given }, lease, false);
      if (lease.data !== expected) this.#wrong(lock, "the kept data", lease.data, expected);
      await this.#end(grip);
    }
  }

  /** Acquires something that comes later than what the process holds, uses it, and ends it. */
  async #round(held: readonly Name[], mayWait = held.length === 0): Promise<void> {
    this.#rounds += 1;
    await this.#anyRound(held, mayWait);
    this.#rounds -= 1;
  }

  async #anyRound(held: readonly Name[], mayWait: boolean): Promise<void> {
    const { names } = this.#plan;
    const later = names.filter((name) =>
      held.every((one) => NAMES.indexOf(one) < NAMES.indexOf(name)),
    );
    if (later.length === 0) return;
    const draw = await this.#draw(later as [Name, ...Name[]]);
    const waits = !this.#random.chance(0.2);
    // Who holds "x" and waits for "y" may be behind one who waits for both: until the wait is over.
    const isPatient = mayWait && this.#random.chance(0.7);
    const wait = isPatient ? WAIT_MS : this.#random.integer(100, 4_000);
    const cancelAfterMs = this.#random.chance(0.15) ? this.#random.integer(0, 3_000) : undefined;
    for (const name of draw.names) this.#plan.data.mayWrite(name, draw.given.data);
    if (draw.isReentrant && this.#random.chance(0.5)) return this.#within(draw, wait);
    const { clock } = this.#self.process;
    const fromMs = clock.monotonicMs();
    let lease: Lease | null;
    try {
      lease = waits ? await this.#acquire(draw, wait, cancelAfterMs) : await this.#try(draw);
    } catch (error) {
      const code = error === CANCELLED ? "cancelled" : this.#codeOf(error, ["not-acquired"]);
      this.#expectPatience(code, draw, waits && wait === WAIT_MS);
      const isEarly = clock.monotonicMs() - fromMs < wait - 1;
      if (code === "not-acquired" && waits && isEarly && !this.#self.stage.isRough)
        this.#self.stage.fail("patience", `${this.#self.name} gave up "${draw.lock.name}" early`);
      if (waits) this.#noteWait(draw, { kind: "gave up", code, waited: true });
      return;
    }
    if (lease !== null) await this.#use(this.#begin(draw, lease, waits));
  }

  /** Holds by `run()`: calls inside share the hold, through any object, and calls outside do not. */
  async #within(draw: Draw, wait: number): Promise<void> {
    const [name] = draw.names;
    const { maxHoldMs } = draw;
    const limits = maxHoldMs === undefined ? {} : { maxHold: inMs(maxHoldMs) };
    const one = (options: object) => this.#one(name, { ...options, reentrant: "context" }, 0);
    const outside = AsyncLocalStorage.snapshot();
    let isGranted = false;
    const ofCall = { ...draw, keep: undefined, isManual: false, asks: {} };
    const calling = one(limits).run(
      { ...draw.given, wait: inMs(wait), poll: POLL },
      async (lease) => {
        isGranted = true;
        const grip = this.#begin(ofCall, lease, true);
        await this.#act(grip, this.#random.integer(0, 2_500));
        const inner = await one({})
          .tryAcquire()
          .catch((error: unknown) => void this.#codeOf(error));
        const other = outside(() => one({}).tryAcquire());
        const another = await other.catch((error: unknown) => void this.#codeOf(error));
        if (lease.isHeld && (inner?.fence !== lease.fence || another))
          this.#self.stage.fail(
            "reentrance",
            `${this.#self.name} holds "${name}" inside and outside`,
          );
        await this.#expecting(async () => inner?.release());
        await this.#expecting(async () => another?.release());
        await this.#act(grip, 300);
        if (lease.isHeld) noteReleased(this.#self, grip.held);
      },
    );
    this.#noteWait(draw, { kind: "waits" });
    await calling.catch((error: unknown) => {
      const code = this.#codeOf(error, ["not-acquired"]);
      if (!isGranted) this.#noteWait(draw, { kind: "gave up", code, waited: true });
    });
  }

  /** A single fault, which loses no lease, ends no call that has time left. */
  #expectPatience(code: string, { lock }: Draw, isPatient: boolean): void {
    const { isRough, fail } = this.#self.stage;
    if (isRough || !isPatient || !["unreachable", "throttled", "access-denied"].includes(code))
      return;
    fail(
      "patience",
      `${this.#self.name} waited for "${lock.name}", and one fault ended it: ${code}`,
    );
  }

  async #acquire(draw: Draw, wait: number, cancelAfterMs: number | undefined): Promise<Lease> {
    const { lock, asks, given } = draw;
    this.#noteWait(draw, { kind: "waits" });
    this.#self.moment("asks");
    const abort = new AbortController();
    const { signal } = abort;
    const { timers } = this.#self.process;
    const cancel = () => abort.abort(CANCELLED);
    const timer = cancelAfterMs === undefined ? undefined : timers.set(cancelAfterMs, true, cancel);
    const counted = this.#counted(draw);
    const options = { ...given, ...asks, ...counted, wait: inMs(wait), signal, poll: POLL };
    try {
      return await this.#self.silence.watch(`waited for "${lock.name}"`, { wait, signal }, () =>
        lock.acquire(options),
      );
    } finally {
      timer?.cancel();
    }
  }

  async #try({ names, lock, given }: Draw): Promise<Lease | null> {
    const [name] = names;
    const isOne = names.length === 1 && !isOfPermits(name);
    if (!isOne || !this.#plan.barges || this.#random.chance(0.5)) return lock.tryAcquire(given);
    this.#self.note({ kind: "barges", name });
    const options: AcquireOptions = { ...given, barge: true };
    const lease = await lock.tryAcquire(options);
    // A late copy of a try that was refused is granted, too.
    if (lease !== null || !this.#self.stage.hasFaults) this.#self.note({ kind: "barged", name });
    return lease;
  }

  /** Expects that the waiters before a call of a fair lock become fewer, and are not more than there are calls. */
  #counted({ names: [name, ...others], lock }: Draw): Pick<AcquireOptions, "onPosition"> {
    if (others.length > 0 || isOfPermits(name) || !this.#plan.fair.has(name)) return {};
    // Behind a call of its own process, which has the lock, no other is before it until it takes a place.
    const isAlone = this.#rounds === 1;
    let last = MOST_CALLS;
    const onPosition = (position: number): void => {
      const { hasFaults, fail } = this.#self.stage;
      if (position < 0 || position > (isAlone && !hasFaults ? last : MOST_CALLS))
        fail("positions", `${this.#self.name} was ${position} for "${lock.name}", after ${last}`);
      last = position;
    };
    return { onPosition };
  }

  async #draw(later: readonly [Name, ...Name[]]): Promise<Draw> {
    const random = this.#random;
    const maxHoldMs = random.chance(0.15) ? random.integer(500, 8_000) : undefined;
    const session = random.chance(0.25) ? await this.#ownSession() : undefined;
    const limits = maxHoldMs === undefined ? {} : { maxHold: inMs(maxHoldMs) };
    const common = { ...limits, ...(session && { session }) };
    const [first, second] = later;
    if (second !== undefined && random.chance(0.25)) {
      const names: [Name, ...Name[]] = [first, second];
      const members = names.map((name) =>
        isOfPermits(name) || name === "y" ? this.#one(name, {}, 1) : name,
      );
      const lock = all(this.#self.locks, members, common) as unknown as Lock;
      return { ...PLAIN, lock, names, maxHoldMs };
    }
    const name = later[random.integer(0, later.length - 1)] ?? first;
    if (isOfPermits(name)) {
      const weight = name === "d" && random.chance(0.5) ? WRITER : 1;
      return { ...PLAIN, lock: this.#one(name, common, weight), names: [name], maxHoldMs };
    }
    const keep = session === undefined && random.chance(0.2) ? this.#plan.keep : undefined;
    const isReentrant = random.chance(0.15);
    const isManual = session === undefined && keep === undefined && random.chance(0.15);
    const length = session === undefined && random.chance(0.3) ? { lease: inMs(4_500) } : {};
    const kept = { ...(keep && { keep }), ...(isManual && { renew: "manual" }) };
    const options = { ...common, ...length, ...kept, reentrant: isReentrant };
    const ifHeld = random.chance(0.2) ? interrupt : random.chance(0.2) ? announce : undefined;
    const isAsking = ifHeld !== undefined && !this.#plan.fair.has(name);
    return {
      ...{ lock: this.#one(name, options, 0), names: [name], maxHoldMs },
      ...{ keep, isReentrant, isManual },
      isOnSession: session !== undefined || (this.#plan.onSession && keep === undefined),
      asks: isAsking ? { ifHeld } : {},
      given: {
        ...(random.chance(0.6) && { data: this.#someData() }),
        ...(random.chance(0.3) && { existingData: "keep" as const }),
        ...(random.chance(0.3) && { keepData: true as const }),
      },
    };
  }

  #one(name: Name, options: object, weight: number): Lock {
    const { locks } = this.#self;
    const { limit, fair } = this.#plan;
    if (name === "s") return semaphore(locks, name, { ...options, permits: limit }) as Lock;
    if (name === "d")
      return (weight === WRITER ? writeLock : readLock)(locks, name, options) as Lock;
    if (!fair.has(name)) return mutex(locks, name, options);
    const { namespace } = this.#plan;
    return fairLock(locks, name, { ...options, ...(name === "y" && { namespace }) });
  }

  /** The session of the process, for all its calls. */
  async #ownSession(): Promise<Session | undefined> {
    this.#opening ??= openSession(this.#self.locks, { lease: LEASE_MS });
    try {
      const session = await this.#opening;
      if (session.isHeld) return session;
    } catch (error) {
      this.#codeOf(error);
    }
    this.#opening = undefined;
    return undefined;
  }

  #someData(): Json {
    return { by: this.#self.name, n: this.#random.integer(0, 99) };
  }

  #noteWait(
    { names }: Draw,
    event: { kind: "waits" } | { kind: "gave up"; code: string; waited: true },
  ): void {
    const [name] = names;
    if (names.length === 1 && !isOfPermits(name)) this.#self.note({ ...event, name });
  }

  #begin(draw: Draw, lease: Lease, waited: boolean): Grip {
    const self = this.#self;
    const locks = lease.parts.filter(({ weight }) => weight === undefined);
    if (draw.names.length > 1 && locks.length > 0) {
      self.note({
        kind: "granted together",
        parts: locks.map(({ fence, name }) => `${fence} ${name}`),
      });
    }
    if (draw.keep !== undefined) noteUse(self, lease, draw.keep);
    const { maxHoldMs, asks } = draw;
    const held = heldOf(lease, { isKept: draw.keep !== undefined, limit: this.#plan.limit });
    for (const { name, fence } of maxHoldMs === undefined ? [] : locks)
      self.note({ kind: "limited", name, fence, maxHoldMs: maxHoldMs ?? 0 });
    begin(self, held, waited && draw.names.length === 1);
    const { name, weight } = lease;
    if (draw.names.length === 1 && weight === undefined) {
      const of = { name, fence: grantFenceOf(lease) };
      if (waited && asks.ifHeld === interrupt) self.note({ kind: "interrupts", ...of });
      // Of several, only one is interrupted.
      lease.signal.addEventListener("abort", () => {
        if (isHoldfastError(lease.signal.reason, "interrupted"))
          self.note({ kind: "obeyed", ...of, what: "interrupted" });
      });
    }
    return { ...draw, lease, held, data: this.#dataOf(draw, lease) };
  }

  /** The data of a new lease, which must be its own, or those that an earlier holder may have left. */
  #dataOf({ names: [name], given, lock }: Draw, lease: Lease): Grip["data"] {
    if (lease.parts.length > 1 || isOfPermits(name)) return undefined;
    const { data } = this.#plan;
    const isOwn = textOfData(lease.data) === textOfData(given.data);
    const isFine = isOwn || (given.existingData === "keep" && data.mayHave(name, lease.data));
    if (!isFine) this.#wrong(lock, "its own data", lease.data, given.data);
    return new DataOfLease(lease.data);
  }

  #wrong(
    { name }: { readonly name: string },
    what: string,
    found: unknown,
    expected: unknown,
  ): void {
    const texts = `${textOfData(found)}, not ${textOfData(expected)}`;
    this.#self.stage.fail("data", `${this.#self.name} found ${what} of "${name}": ${texts}`);
  }

  /** Acts for so long. A lease without renewals of its own lasts longer only if its process renews it. */
  async #act(grip: Grip, forMs: number): Promise<void> {
    const { lease, held, isManual } = grip;
    if (!isManual) return act(this.#self, held, forMs);
    const { clock } = this.#self.process;
    const endMs = (): number => clock.monotonicMs() + lease.remainingMs();
    for (let leftMs = forMs; leftMs > 0 && lease.isHeld; leftMs -= BY_HAND_MS) {
      // A renewal that is given up may arrive later.
      const isRenewed = await this.#expecting(() => lease.renew());
      const [untilMs, writes, isWriting] = [endMs(), grip.data?.writes, grip.data?.isWriting];
      await act(this.#self, held, Math.min(leftMs, BY_HAND_MS));
      const isStill = isRenewed && isWriting === false && grip.data?.writes === writes;
      // The boot clock, by which the time that is left may count, has steps.
      if (isStill && lease.isHeld && endMs() > untilMs + (clock.bootStepMs ?? 0))
        this.#self.stage.fail("by hand", `${this.#self.name}: "${lease.name}" renewed itself`);
    }
  }

  async #use(first: Grip): Promise<void> {
    let grip = first;
    for (let left = this.#random.integer(0, 4); left > 0 && grip.lease.isHeld; left -= 1) {
      const next = await this.#step(grip);
      if (next === undefined) return;
      grip = next;
    }
    await this.#act(grip, this.#random.integer(0, 400));
    this.#self.moment("ends");
    await this.#end(grip);
  }

  /** Does one thing with a lease. Returns what is then held; undefined if the lease has ended. */
  async #step(grip: Grip): Promise<Grip | undefined> {
    const { lease, data } = grip;
    const random = this.#random;
    const afterMs = random.integer(0, 2_500);
    switch (random.integer(0, 9)) {
      case 0:
        await this.#act(grip, afterMs);
        return grip;
      case 1:
        // Nobody would renew the lease meanwhile.
        if (!grip.isManual) await this.#round(grip.names);
        return grip;
      case 2:
      case 3:
        await this.#write(grip);
        return grip;
      case 4:
        await this.#expecting(() => lease.renew(this.#length(grip)));
        return grip;
      case 5:
        await this.#look(grip);
        return grip;
      case 6:
        return data === undefined ? grip : this.#again(grip);
      case 7:
        return data === undefined ? this.#downgrade(grip) : this.#transfer(grip);
      case 8:
        // As above: not while another call may be granted a permit.
        if (this.#rounds === 1 && random.chance(0.1)) await this.#closeSession();
        await this.#shielded(grip, afterMs);
        return grip;
      default: {
        const { name, fence, weight } = lease;
        if (weight === undefined && fence !== undefined)
          this.#self.note({ kind: "listens", name, fence: grantFenceOf(lease), everyMs: 200 });
        await this.#expecting(async () => void listen(lease, "200ms"));
        wanted(lease);
        return grip;
      }
    }
  }

  /** Holds within a section that no interruption cuts off; it comes at once afterwards. */
  async #shielded(grip: Grip, forMs: number): Promise<void> {
    const { lease } = grip;
    const { stage, name } = this.#self;
    const isStopped = (): boolean => isHoldfastError(lease.signal.reason, "interrupted");
    await this.#expecting(() =>
      shield(lease, async () => {
        await this.#act(grip, forMs);
        if (lease.isHeld && isStopped()) stage.fail("shielded", `${name} was told in a section`);
      }),
    );
    if (lease.isHeld && wanted(lease)?.kind === "interrupt" && !isStopped())
      stage.fail("shielded", `${name} was not told after a section`);
  }

  /** Writes data, once or twice at the same time, and perhaps does not wait for the end. */
  async #write({ lease, data, names: [name] }: Grip): Promise<void> {
    if (data === undefined) return;
    const random = this.#random;
    const writeOne = (): Promise<boolean> => {
      const value = random.chance(0.2) ? undefined : this.#someData();
      this.#plan.data.mayWrite(name, value);
      const isUpdate = value === undefined || random.chance(0.5);
      const call = () => (isUpdate ? lease.update(value) : lease.renew({ data: value }));
      return this.#expecting(() => data.written(value, call));
    };
    const writing = random.chance(0.3) ? [writeOne(), writeOne()] : [writeOne()];
    const written = Promise.all(writing).catch((error: unknown) => {
      this.#self.stage.fail("unexpected error", `${this.#self.name}: ${String(error)}`);
    });
    if (random.chance(0.7)) await written;
  }

  /** Reads the record, which has the data of its holder. */
  async #look(grip: Grip): Promise<void> {
    const { lease, lock, data } = grip;
    // An answer may be older than the answer to a write that goes on.
    const before = data?.values ?? [];
    let found: Inspection;
    try {
      found = await lock.inspect();
    } catch (error) {
      this.#codeOf(error);
      return;
    }
    if (data === undefined || !lease.isHeld || found.holder !== lease.holder) return;
    if (!data.mayBe(found.data) && !before.includes(textOfData(found.data)))
      this.#wrong(lock, "the data in the record", found.data, lease.data);
    if (!data.mayBe(lease.data)) this.#wrong(lock, "the data of the lease", lease.data, found.data);
  }

  /** Tries to acquire what it holds: only a reentrant lock gives it, and is held on until the last release. */
  async #again(grip: Grip): Promise<Grip> {
    const { lease, lock, isReentrant } = grip;
    const second = await lock.tryAcquire().catch((error: unknown) => void this.#codeOf(error));
    if (second === null || second === undefined) return grip;
    if (!isReentrant && lease.isHeld)
      this.#self.stage.fail("exclusion", `${this.#self.name} was granted "${lock.name}" twice`);
    const [first, last] = this.#random.chance(0.5) ? [lease, second] : [second, lease];
    await this.#expecting(() => first.release());
    return { ...grip, lease: last };
  }

  /** Exports a lease and adopts it again. */
  async #transfer(grip: Grip): Promise<Grip | undefined> {
    const { lease, keep, isReentrant, isOnSession, data } = grip;
    if (keep !== undefined || isReentrant || isOnSession || !lease.isHeld) return grip;
    const { name, fence } = lease;
    this.#self.note({ kind: "exports", name, fence });
    const exporting = exportLease(lease);
    noteReleased(this.#self, grip.held);
    try {
      const handle = await exporting;
      const from = BigInt(handle.fence);
      this.#self.note({ kind: "exported", name, fence: from });
      this.#self.note({ kind: "imports", name, fence: from });
      const adopted = await adoptLease(this.#self.locks, handle, { wait: WAIT_MS });
      this.#self.note({ kind: "imported", name, fence: adopted.fence, from });
      if (data?.mayBe(adopted.data) === false)
        this.#wrong(lease, "the data after a transfer", adopted.data, lease.data);
      const next = {
        ...grip,
        maxHoldMs: undefined,
        isManual: false,
        asks: {},
        given: { data: adopted.data },
      };
      return this.#begin(next, adopted, false);
    } catch (error) {
      this.#codeOf(error, ["not-acquired"]);
      return undefined;
    }
  }

  async #downgrade(grip: Grip): Promise<Grip | undefined> {
    const { lease, names } = grip;
    if (names.length > 1 || lease.weight !== WRITER || !lease.isHeld) return grip;
    const downgrading = downgrade(lease);
    noteReleased(this.#self, grip.held);
    try {
      const reader = (await downgrading) as Lease;
      if (reader.weight !== 1) this.#self.stage.fail("limit", `a reader weighs ${reader.weight}`);
      return this.#begin(grip, reader, false);
    } catch (error) {
      this.#codeOf(error);
      await this.#expecting(() => lease.release());
      return undefined;
    }
  }

  /** A new length for a lease of its own, or none. */
  #length({ data, isOnSession }: Grip): { readonly lease?: Duration } {
    if (data === undefined || isOnSession || this.#random.chance(0.5)) return {};
    return { lease: inMs(this.#random.integer(4_000, LEASE_MS)) };
  }

  async #end(grip: Grip): Promise<void> {
    const { lease } = grip;
    const { isHeld } = lease;
    const way = this.#random.integer(0, 2);
    const released =
      way === 0
        ? lease[Symbol.asyncDispose]()
        : way === 1
          ? lease.release()
          : Promise.all([lease.release(), lease.release()]);
    if (isHeld) noteReleased(this.#self, grip.held);
    await this.#expecting(() => released);
    if (lease.isHeld) this.#self.stage.fail("lost is final", `${this.#self.name} holds on`);
  }

  /** Returns whether the call succeeded. */
  async #expecting(call: () => Promise<unknown>): Promise<boolean> {
    try {
      await call();
      return true;
    } catch (error) {
      this.#codeOf(error);
      return false;
    }
  }

  /** Expects a code of contention, of a lease that has ended, or of the faults. */
  #codeOf(error: unknown, more: readonly string[] = []): string {
    const { hasFaults } = this.#self.stage;
    const ofFaults = hasFaults ? [...UNACKNOWLEDGED, ...UNREADABLE_CODES, "closed"] : [];
    const ofClose = this.#self.endsLeases ? ["closed"] : [];
    return this.#self.codeOf(error, ["lost", "interrupted", ...more, ...ofFaults, ...ofClose]);
  }
}

/** Longer than the renewal period of a lease that renews itself. */
const BY_HAND_MS = 2_200;
/** Four processes, with two calls each at the same time. */
const MOST_CALLS = 8;
const CANCELLED = new Error("cancelled");
const PLAIN = {
  ...{ maxHoldMs: undefined, keep: undefined, isReentrant: false, asks: {}, given: {} },
  isManual: false,
  isOnSession: false,
} as const;
