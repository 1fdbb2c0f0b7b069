import type { Capability } from "../core/record/capability.js";
import type { HeldRecord } from "../core/record/record.js";
import { keysOf } from "./native-conditions.js";

/** How a client can be rung about one grant. */
export interface RingMark {
  /** Where the client listens. */
  readonly address: string;
  /** 24 random bytes in base64url, new with every grant. */
  readonly token: string;
}

/** The layout of the attribute `ring`: the holder, the address and the token of its client, parted by spaces. */
export interface RingMarks {
  markOf(holder: string, mark: RingMark): string;
  /**
   * Returns the mark of the present holder. Undefined if there is none, if it cannot be read, or if it is of an earlier
   * grant: a client that does not know the attribute leaves it in place.
   */
  markIn(record: Pick<HeldRecord, "holder" | "ring">): RingMark | undefined;
}

/** Records by which their holders can be rung. */
export const RINGS: Capability<RingMarks> = {
  feature: "the option `ring`",
  why: "its records have no place for an address",
  of: (format) => (keysOf(format) === undefined ? undefined : ringMarks),
};

const TOKEN = /^[\w-]{32}$/;

const ringMarks: RingMarks = {
  markOf: (holder, { address, token }) => `${holder} ${address} ${token}`,
  markIn({ holder, ring }) {
    const [of, address = "", token = "", ...more] = ring?.split(" ") ?? [];
    if (of !== holder || address === "" || !TOKEN.test(token) || more.length > 0) return undefined;
    return { address, token };
  },
};
