import type { ClientContext, HasRings } from "../core/context.js";
import { requireCapability } from "../core/record/capability.js";
import type { RecordRef } from "../core/record/format.js";
import type { Ear, Ringable, Rings, RungHold } from "../core/rings.js";
import { RINGS, type RingMarks } from "../native/native-rings.js";
import { Bells } from "./bells.js";
import { Lines } from "./lines.js";
import type { RingPort } from "./port.js";

/** Opens the port of one client. */
export type OpensPort = (context: ClientContext) => RingPort;

/** Returns the value of the option `ring` over a port. */
export function ringOver(opens: OpensPort): HasRings {
  return Object.freeze<HasRings>({
    kind: "ring",
    startRings: (format) => {
      const marks = requireCapability(format, RINGS);
      return (context) => new ClientRings(context, opens(context), marks);
    },
  });
}

/** The rings of one client over a port. */
class ClientRings implements Rings {
  readonly #port: RingPort;
  readonly #bells: Bells;
  readonly #lines: Lines;

  constructor(context: ClientContext, port: RingPort, marks: RingMarks) {
    this.#port = port;
    this.#bells = new Bells(context, port, marks);
    this.#lines = new Lines(context, port, marks);
    port.listen((line) => this.#bells.accept(line));
  }

  get opening(): Promise<void> | undefined {
    return this.#port.opening;
  }

  markOf(ref: RecordRef, holder: string): string | undefined {
    return this.#bells.markOf(ref, holder);
  }

  began(hold: RungHold): void {
    this.#bells.began(hold);
  }

  freed(ref: RecordRef): void {
    this.#bells.freed(ref);
  }

  ear(): Ear {
    return this.#lines.ear();
  }

  asked(record: Ringable): void {
    this.#lines.asked(record);
  }

  close(): void {
    this.#bells.close();
    this.#lines.close();
    this.#port.close();
  }
}
