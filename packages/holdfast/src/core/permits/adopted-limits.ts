/** The limit of a record as one caller goes by it, if the table has another limit than the caller. */
export interface AdoptedLimit {
  /** The record's limit when this client last learnt that it is not the caller's; undefined: not known to differ. */
  readonly known: number | undefined;
  /** Notes the limit in a strongly consistent answer; undefined: the record has none. */
  see(found: number | undefined): void;
}

// A limit that was forgotten costs one refused write, and is told again.
const MOST_KNOWN = 10_000;

/**
 * The limits in the table that are not the caller's. Without them, each acquisition of such a caller would cost one refused
 * write more. Keeps nothing of a record with the caller's limit, and forgets the oldest limits beyond a bound.
 */
export class AdoptedLimits {
  readonly #known = new Map<string, number>();

  /** Returns the limit for a caller that has `own`. Calls `tell` when the record has a limit that was not told yet. */
  of(id: string, own: number, tell: (found: number) => void): AdoptedLimit {
    const known = this.#known;
    const key = JSON.stringify([id, own]);
    return {
      get known() {
        return known.get(key);
      },
      see(found) {
        if (found === known.get(key)) return;
        if (found === undefined || found === own) {
          known.delete(key);
          return;
        }
        known.set(key, found);
        for (const oldest of known.keys()) {
          if (known.size <= MOST_KNOWN) break;
          known.delete(oldest);
        }
        tell(found);
      },
    };
  }
}
