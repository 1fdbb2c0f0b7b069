import type { Lease } from "../src/index.js";
import type { Item } from "../src/platform/table.js";
import type { TableChange } from "../src/testing/table/memory-table.js";
import type { Event } from "./history.js";
import type { Incarnation } from "./incarnation.js";
import { BY_HAND, BY_TTL } from "./safety.js";
import { nameIn } from "./witness.js";

/** What a change of the table shows of a lock. */
interface GrantIn {
  readonly holder: string | undefined;
  readonly fence: bigint;
  readonly version: string;
  readonly leaseMs: number | undefined;
}

/** Looks at every change of the table in the instant in which it is made. */
export class Records {
  /** Leases that were handed out and may be believed in, with who has them. */
  readonly #leases = new Set<{ readonly lease: Lease; readonly self: Incarnation }>();
  readonly #note: (event: Event) => void;
  readonly #fail: (invariant: string, what: string) => void;
  readonly #isExclusive: boolean;
  #isTold = false;

  constructor(
    isExclusive: boolean,
    note: (event: Event) => void,
    fail: (invariant: string, what: string) => void,
  ) {
    this.#isExclusive = isExclusive;
    this.#note = note;
    this.#fail = fail;
  }

  handedOut(self: Incarnation, lease: Lease): void {
    this.#leases.add({ lease, self });
  }

  changed({ key, before, after, by: how }: TableChange, writer: string): void {
    const name = nameIn(key);
    const was = grantIn(before);
    const is = grantIn(after);
    const by = how === "write" ? writer : how === "ttl" ? BY_TTL : BY_HAND;
    if (is === undefined) {
      if (was !== undefined) {
        this.#note({ kind: "record", by, name, fence: was.fence, holder: undefined });
      }
      return;
    }
    const { holder, fence, version, leaseMs } = is;
    if (was !== undefined && holder === was.holder && fence === was.fence) {
      this.#checkData(after, writer, name);
      if (version === was.version) return;
    } else if (this.#isExclusive && holder !== undefined) this.#checkBelief(name, fence);
    const length = leaseMs === undefined || holder === undefined ? {} : { leaseMs };
    this.#note({ kind: "record", by, name, fence, holder, ...length });
  }

  // A write of data renews nothing, so it is in no history; but it is the holder's own all the same.
  #checkData(after: Item | undefined, writer: string, name: string): void {
    const owner = textIn(after, "owner");
    if (textIn(after, "holder") === undefined || owner === writer) return;
    this.#fail("ownership", `${writer} wrote "${name}", which ${owner} holds`);
  }

  // At the very instant at which the table makes a new grant, nobody may still believe in an old one:
  // sharper than to wait for somebody to act.
  #checkBelief(name: string, fence: bigint): void {
    for (const entry of this.#leases) {
      const { lease, self } = entry;
      if (lease.name !== name || self.process.state === "paused") continue;
      if (self.process.state === "killed" || !lease.isHeld) this.#leases.delete(entry);
      else if (lease.fence < fence && !this.#isTold) {
        // Once is enough: each later grant of the name would be told of again.
        this.#isTold = true;
        const what = `${self.name} believes in "${name}" (${lease.fence}) as ${fence} is granted`;
        this.#fail("exclusion", what);
      }
    }
  }
}

function grantIn(item: Item | undefined): GrantIn | undefined {
  const [fence, version, leaseMs] = ["fence", "version", "leaseMs"].map((name) => {
    const value = item?.[name];
    return value !== undefined && "N" in value ? value.N : undefined;
  });
  if (fence === undefined) return undefined;
  return {
    holder: textIn(item, "holder"),
    fence: BigInt(fence),
    version: version ?? "",
    leaseMs: leaseMs === undefined ? undefined : Number(leaseMs),
  };
}

function textIn(item: Item | undefined, attribute: string): string | undefined {
  const value = item?.[attribute];
  return value !== undefined && "S" in value ? value.S : undefined;
}
