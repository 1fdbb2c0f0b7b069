import type { Socket } from "node:net";
import type { Timer, Timers } from "../platform/timers.js";
import { FRAME_BYTES } from "./frames.js";
import type { LineEvents, RingLine } from "./port.js";

/** How long a connection may take to open, and a new one until its first frame. */
const OPEN_MS = 2_000;
/** How long the last frames may take to leave. */
const FLUSH_MS = 1_000;
/** A peer that does not read is cut off when this much is unsent. */
const MOST_UNSENT_BYTES = 64 * 1_024;
// Finds a peer whose machine has gone.
const PROBE_AFTER_MS = 30_000;

/** Carries frames over a socket. Neither the socket nor its timers keep the process alive. */
export class SocketLine implements RingLine {
  readonly #socket: Socket;
  readonly #timers: Timers;
  #opening: Timer | undefined;
  #flushing: Timer | undefined;
  #isOver = false;
  #left: Buffer = Buffer.alloc(0);

  constructor(socket: Socket, timers: Timers) {
    this.#socket = socket;
    this.#timers = timers;
    socket.unref();
    // For a name with several addresses, Node connects by another handle than that of now.
    socket.once("connect", () => socket.unref());
    socket.setNoDelay(true);
    socket.setKeepAlive(true, PROBE_AFTER_MS);
    this.#opening = timers.set(OPEN_MS, false, () => socket.destroy());
  }

  /** Passes on what happens. `opensWith`: what must happen in time. */
  begin(events: LineEvents, opensWith: "connect" | "frame"): void {
    const socket = this.#socket;
    if (opensWith === "connect") socket.once("connect", () => this.#opening?.cancel());
    socket.on("data", (chunk: Buffer) => {
      let bytes = this.#left.length === 0 ? chunk : Buffer.concat([this.#left, chunk]);
      while (bytes.length >= FRAME_BYTES && !this.#isOver) {
        if (opensWith === "frame") this.#opening?.cancel();
        events.received(bytes.subarray(0, FRAME_BYTES));
        bytes = bytes.subarray(FRAME_BYTES);
      }
      // Less than a frame, or the rest of a connection that is over.
      this.#left = this.#isOver ? Buffer.alloc(0) : Buffer.from(bytes);
    });
    // What went wrong decides nothing: the waiter polls.
    socket.on("error", () => undefined);
    socket.once("close", () => {
      this.#isOver = true;
      this.#opening?.cancel();
      this.#flushing?.cancel();
      events.closed();
    });
  }

  send(frame: Uint8Array): void {
    if (this.#isOver || this.#socket.destroyed) return;
    if (this.#socket.writableLength > MOST_UNSENT_BYTES) this.#socket.destroy();
    else this.#socket.write(frame);
  }

  close(): void {
    if (this.#isOver) return;
    this.#isOver = true;
    this.#opening?.cancel();
    this.#socket.destroySoon();
    this.#flushing = this.#timers.set(FLUSH_MS, false, () => this.#socket.destroy());
  }
}
