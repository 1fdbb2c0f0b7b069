/**
 * What carries rings between clients: connections in a program, memory in the simulation. A port may lose, delay, double
 * and invent frames: nothing depends on any of them.
 */
export interface RingPort {
  /** Where others reach this client; undefined while it does not listen. */
  readonly address: string | undefined;
  /** As `opening` of the client's rings. Waits for this machine only. */
  readonly opening: Promise<void> | undefined;
  /** Begins to listen, if the port listens at all. `accept` gets each connection that others make. */
  listen(accept: (line: RingLine) => LineEvents): void;
  /** Connects. Returns undefined for an address that this port cannot reach, or has no connection left for. */
  dial(address: string, events: LineEvents): RingLine | undefined;
  /** Ends all connections, after what was sent. */
  close(): void;
}

/** One connection. It carries frames of one size. */
export interface RingLine {
  /** Sends a frame, also before the connection stands. Never throws. */
  send(frame: Uint8Array): void;
  /** Ends the connection. `closed` is still called. */
  close(): void;
}

/** What happens on a connection. */
export interface LineEvents {
  received(frame: Uint8Array): void;
  /** The connection has ended, or never stood. Called once. */
  closed(): void;
}
