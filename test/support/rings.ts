import type { RingChoice } from "../../packages/holdfast/src/core/options.js";
import { ringOver } from "../../packages/holdfast/src/ring/client-rings.js";
import type { LineEvents, RingLine, RingPort } from "../../packages/holdfast/src/ring/port.js";
import type { VirtualTime } from "../../packages/testing/src/time/virtual-time.js";

/** One frame on its way, for a test that loses, doubles, keeps or forges frames. */
export interface Sent {
  readonly to: string;
  readonly bytes: Uint8Array;
  deliver(): void;
  /** Delivers other bytes in their place, at once. */
  pass(bytes: Uint8Array): void;
}

/** Connections in memory between the clients of one world: every frame takes `delayMs`. */
export class MemoryRings {
  readonly #time: VirtualTime;
  readonly #accepting = new Map<string, (line: RingLine) => LineEvents>();
  readonly #ends = new Map<string, Set<() => void>>();
  #count = 0;
  delayMs = 1;
  /** Called with each frame. Returns whether it is delivered as usual. */
  carries: (sent: Sent) => boolean = () => true;
  /** Every address that a client has connected to, also in vain. */
  readonly dialled: string[] = [];

  constructor(time: VirtualTime) {
    this.#time = time;
  }

  /** The option `ring` of a client that listens at `address`; undefined: it does not listen. */
  choice(address: string | undefined = `memory:${++this.#count}`): RingChoice {
    return ringOver(() => this.#port(address));
  }

  /** Ends the listening at an address and its connections, as the end of its process does. */
  shut(address: string): void {
    this.#accepting.delete(address);
    for (const end of this.#ends.get(address) ?? []) end();
  }

  /** Listens at an address in the place of a client. */
  accept(address: string, accept: (line: RingLine) => LineEvents): void {
    this.#accepting.set(address, accept);
  }

  dial(address: string, events: LineEvents): RingLine {
    const ends: { near: LineEvents | undefined; far: LineEvents | undefined } = {
      near: events,
      far: undefined,
    };
    const close = (): void => {
      const { near, far } = ends;
      ends.near = undefined;
      ends.far = undefined;
      this.#later(() => {
        near?.closed();
        far?.closed();
      });
    };
    const lineTo = (end: "near" | "far", to: string): RingLine => ({
      send: (bytes) => {
        const deliver = (): void => this.#later(() => ends[end]?.received(bytes));
        const pass = (other: Uint8Array): void => ends[end]?.received(other);
        if (this.carries({ to, bytes, deliver, pass })) deliver();
      },
      close,
    });
    this.dialled.push(address);
    const accept = this.#accepting.get(address);
    if (accept === undefined) close();
    else {
      ends.far = accept(lineTo("near", "the caller"));
      this.#ends.set(address, (this.#ends.get(address) ?? new Set()).add(close));
    }
    return lineTo("far", address);
  }

  #port(address: string | undefined): RingPort {
    return {
      address,
      opening: undefined,
      listen: (accept) => {
        if (address !== undefined) this.#accepting.set(address, accept);
      },
      dial: (to, events) => this.dial(to, events),
      close: () => {
        if (address !== undefined) this.shut(address);
      },
    };
  }

  #later(act: () => void): void {
    this.#time.timers.set(this.delayMs, false, act);
  }
}
