import { Exclusive } from "../../internal/exclusive.js";
import type { Item } from "../../platform/table.js";
import type { NumberedData } from "../record/format.js";
import type { HeldRecord } from "../record/record.js";

/** The user data of a lease, and the number of each data write. */
export class UserData {
  /** Further user attributes of the record at the grant. */
  readonly attributes: Item | undefined;
  /** Runs the data writes in the caller's order, never at the same time. */
  readonly #writes = new Exclusive();
  #leftAtClose: unknown;
  #value: unknown;
  #seq: number;

  /** Reads the user data from the record of the grant. */
  constructor({ data, dataSeq, attributes }: HeldRecord) {
    this.#value = data;
    this.#seq = dataSeq;
    this.attributes = attributes;
  }

  /** The value of the grant, or of the last acknowledged write. */
  get value(): unknown {
    return this.#value;
  }

  /** The number of the last data write under this grant, also of one without an answer. */
  get seq(): number {
    return this.#seq;
  }

  /** The data that `close()` of the client, or a loss, leaves in the record. Undefined: the record keeps its data. */
  get leftAtClose(): unknown {
    return this.#leftAtClose;
  }

  leaveAtClose(data: unknown): void {
    this.#leftAtClose = data;
  }

  /** Sends the value after all earlier writes, with a higher number than theirs. */
  write(value: unknown, send: (numbered: NumberedData) => Promise<void>): Promise<void> {
    return this.#writes.run(async () => {
      this.#seq += 1;
      await send({ value, seq: this.#seq });
      this.#value = value;
    });
  }
}
