import { createServer, type ListenOptions, type Server, type Socket } from "node:net";
import { HoldfastError } from "../errors.js";
import type { Timers } from "../platform/timers.js";
import type { LineEvents, RingLine, RingPort } from "./port.js";
import { SocketLine } from "./socket-line.js";

/** How many connections of others a client accepts, in all and of one machine. */
const MOST_ACCEPTED = 1_024;
const MOST_OF_ONE_PEER = 256;

/** How the sockets of a port listen and connect. */
export interface Sockets {
  /** Where to listen, in the order of the attempts. Throws if the place cannot be used. Empty: nowhere. */
  places(): readonly ListenOptions[];
  /** Returns what the records say, once the server listens at a place. */
  addressOf(server: Server, place: ListenOptions): string;
  /** Returns a socket that connects; undefined for an address of another kind. */
  connect(address: string): Socket | undefined;
}

/** What the port uses of its client. */
interface Client {
  readonly timers: Timers;
  report(error: HoldfastError): void;
}

/** The ring port over sockets of this machine. Nothing of it keeps the process alive. */
export class SocketPort implements RingPort {
  readonly #client: Client;
  readonly #sockets: Sockets;
  readonly #lines = new Set<SocketLine>();
  readonly #peers = new Map<string, number>();
  #server: Server | undefined;
  #address: string | undefined;
  #isClosed = false;
  #opening: Promise<void> | undefined;
  #opened: (() => void) | undefined;

  constructor(client: Client, sockets: Sockets) {
    this.#client = client;
    this.#sockets = sockets;
  }

  get address(): string | undefined {
    return this.#address;
  }

  get opening(): Promise<void> | undefined {
    return this.#opening;
  }

  listen(accept: (line: RingLine) => LineEvents): void {
    try {
      const places = [...this.#sockets.places()];
      if (places.length === 0) return;
      this.#opening = new Promise((resolve) => {
        this.#opened = resolve;
      });
      this.#listenAt(places, accept);
    } catch (cause) {
      this.#fails(cause);
    }
  }

  #listenAt([place, ...others]: ListenOptions[], accept: (line: RingLine) => LineEvents): void {
    if (place === undefined || this.#isClosed) return;
    const server = createServer((socket) => this.#accept(socket, accept));
    server.maxConnections = MOST_ACCEPTED;
    server.unref();
    server.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code === "EADDRINUSE" && others.length > 0) this.#listenAt(others, accept);
      else this.#fails(error);
    });
    server.listen({ ...place, exclusive: true }, () => {
      try {
        this.#address = this.#sockets.addressOf(server, place);
        this.#settled();
      } catch (cause) {
        this.#fails(cause);
      }
    });
    this.#server = server;
  }

  #accept(socket: Socket, accept: (line: RingLine) => LineEvents): void {
    const peer = socket.remoteAddress ?? "";
    const count = (this.#peers.get(peer) ?? 0) + 1;
    // All clients of this machine share the address of a local socket.
    if (this.#isClosed || (peer !== "" && count > MOST_OF_ONE_PEER)) {
      socket.destroy();
      return;
    }
    this.#peers.set(peer, count);
    const line = new SocketLine(socket, this.#client.timers);
    const events = accept(line);
    this.#begin(line, "frame", {
      received: events.received,
      closed: () => {
        const left = (this.#peers.get(peer) ?? 1) - 1;
        if (left === 0) this.#peers.delete(peer);
        else this.#peers.set(peer, left);
        events.closed();
      },
    });
  }

  dial(address: string, events: LineEvents): RingLine | undefined {
    const socket = this.#isClosed ? undefined : this.#sockets.connect(address);
    if (socket === undefined) return undefined;
    const line = new SocketLine(socket, this.#client.timers);
    this.#begin(line, "connect", events);
    return line;
  }

  #begin(line: SocketLine, opensWith: "connect" | "frame", events: LineEvents): void {
    this.#lines.add(line);
    const closed = (): void => {
      this.#lines.delete(line);
      events.closed();
    };
    line.begin({ received: events.received, closed }, opensWith);
  }

  #settled(): void {
    this.#opening = undefined;
    this.#opened?.();
  }

  close(): void {
    this.#isClosed = true;
    this.#settled();
    this.#address = undefined;
    this.#server?.close();
    for (const line of this.#lines) line.close();
  }

  #fails(cause: unknown): void {
    this.#address = undefined;
    this.#settled();
    this.#server?.close();
    const why = cause instanceof Error ? cause.message : String(cause);
    this.#client.report(
      new HoldfastError(
        "misconfigured",
        `Nobody can ring this client: it cannot listen (${why}). Waiters find a release by their polls.`,
        { cause },
      ),
    );
  }
}
