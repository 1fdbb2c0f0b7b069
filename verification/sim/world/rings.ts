import type { RingChoice } from "../../../packages/holdfast/src/core/options.js";
import { ringOver } from "../../../packages/holdfast/src/ring/client-rings.js";
import { encodeFrame, type FrameKind } from "../../../packages/holdfast/src/ring/frames.js";
import type { LineEvents, RingLine, RingPort } from "../../../packages/holdfast/src/ring/port.js";
import {
  type SeededRandom,
  seededRandom,
} from "../../../packages/testing/src/time/seeded-random.js";
import type { VirtualProcess } from "../../../packages/testing/src/time/virtual-process.js";
import type { Plan } from "../plan.js";

/** So few that a later process often listens where an earlier one did. */
const ADDRESSES = 4;
const LONGEST_DELAY_MS = 20;
const LONGEST_LATE_MS = 3_000;
const FORGED: readonly FrameKind[] = ["free", "look", "heard", "wait", "asked"];

/** One end of a connection. */
interface End {
  readonly process: VirtualProcess;
  events: LineEvents | undefined;
}

/**
 * The connections for rings between the processes of a run. Frames are late, lost, doubled and forged, connections hang and
 * break, and addresses are reused. In a calm world, they are only a little late.
 */
export class WorldRings {
  readonly #random: SeededRandom;
  readonly #isCalm: boolean;
  readonly #listening = new Map<
    string,
    { process: VirtualProcess; accept: (line: RingLine) => LineEvents }
  >();
  #opened = 0;

  /** Undefined in the runs without rings. */
  static of({ seed, kind, world }: Plan): WorldRings | undefined {
    if (world === undefined || seed % 4 !== 1) return undefined;
    return new WorldRings(seededRandom(7_000_003 * seed + 5), kind === "calm world");
  }

  private constructor(random: SeededRandom, isCalm: boolean) {
    this.#random = random;
    this.#isCalm = isCalm;
  }

  /** The option `ring` of a process; every sixth only rings. */
  choice(process: VirtualProcess): RingChoice {
    this.#opened += 1;
    const address = this.#isCalm ? `world:${this.#opened}` : `world:${this.#opened % ADDRESSES}`;
    return ringOver(() => this.#port(process, this.#opened % 6 === 0 ? undefined : address));
  }

  #port(process: VirtualProcess, address: string | undefined): RingPort {
    return {
      address,
      opening: undefined,
      listen: (accept) => {
        if (address !== undefined) this.#listening.set(address, { process, accept });
      },
      dial: (to, events) => this.#dial(process, to, events),
      close: () => {
        if (address !== undefined && this.#listening.get(address)?.process === process) {
          this.#listening.delete(address);
        }
      },
    };
  }

  #dial(process: VirtualProcess, to: string, events: LineEvents): RingLine {
    const near: End = { process, events };
    const there = this.#listening.get(to);
    const far: End = { process: there?.process ?? process, events: undefined };
    const line = this.#line(near, far);
    if (there === undefined) line.close();
    // Otherwise it accepts and hangs.
    else if (this.#isCalm || !this.#random.chance(0.1))
      far.events = there.accept(this.#line(far, near));
    return line;
  }

  #line(from: End, to: End): RingLine {
    const close = (): void => {
      for (const end of [from, to]) {
        const { events } = end;
        end.events = undefined;
        end.process.timers.set(1, false, () => events?.closed());
      }
    };
    return {
      send: (frame) => {
        const isBroken = !this.#isCalm && this.#random.chance(0.03);
        if (isBroken || to.process.state === "killed") close();
        for (const [bytes, delayMs] of this.#carried(frame)) {
          to.process.timers.set(delayMs, false, () => to.events?.received(bytes));
        }
      },
      close,
    };
  }

  /** What arrives of a frame, and when. */
  #carried(frame: Uint8Array): (readonly [Uint8Array, number])[] {
    const random = this.#random;
    const soonMs = LONGEST_DELAY_MS * random.fraction();
    if (this.#isCalm) return [[frame, soonMs]];
    const arrived: (readonly [Uint8Array, number])[] = [];
    const lateMs = random.chance(0.2) ? LONGEST_LATE_MS * random.fraction() : soonMs;
    if (!random.chance(0.2)) arrived.push([frame, lateMs]);
    if (random.chance(0.2)) arrived.push([frame, LONGEST_LATE_MS * random.fraction()]);
    if (random.chance(0.3))
      arrived.push([this.#forged(frame), LONGEST_LATE_MS * random.fraction()]);
    return arrived;
  }

  /** The frame of another kind with the same token, a wrong token, or no frame at all. */
  #forged(frame: Uint8Array): Uint8Array {
    const forged = Uint8Array.from(frame);
    const kind = FORGED[this.#random.integer(0, FORGED.length - 1)] ?? "free";
    if (this.#random.chance(0.8)) forged[1] = encodeFrame({ kind, token: "" })[1] ?? 0;
    else forged[this.#random.integer(0, forged.length - 1)] = this.#random.integer(0, 255);
    return forged;
  }
}
