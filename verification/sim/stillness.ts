import type { Timed } from "./history.js";
import type { Scene } from "./scene.js";

/** The last observed state of a record, and since when. */
export interface Standing {
  readonly sinceMs: number;
  readonly by: string;
  readonly fence: bigint;
  readonly leaseMs: number | undefined;
  readonly holder: string | undefined;
  readonly session: string | undefined;
}

/** The last observed state of a place, and when its process took the place. */
interface Place extends Standing {
  readonly takenMs: number;
}

type PlaceChange = Extract<Timed, { readonly kind: "place" }>;

/** The last observed state of a session's row, and since when. */
interface Row {
  readonly state: "alive" | "ended" | "gone";
  readonly sinceMs: number;
  readonly leaseMs: number;
}

/** Since when a waiter has no reason to wait for a record, and the lease to watch. */
export interface Still {
  readonly sinceMs: number;
  /** The lease which a waiter must watch, in milliseconds; 0 for none. */
  readonly leaseMs: number;
  readonly standing: Standing;
}

// Above each ticket of a simulation.
const NO_TICKET = 10n ** 38n;

const BEGINNING: Standing = {
  sinceMs: 0,
  by: "",
  fence: 0n,
  leaseMs: undefined,
  holder: undefined,
  session: undefined,
};

function leastOf(tickets: readonly bigint[]): bigint | undefined {
  return tickets.reduce<bigint | undefined>(
    (least, ticket) => (least === undefined || ticket < least ? ticket : least),
    undefined,
  );
}

/** Since when records are unchanged, at one point of a history which is read in order. */
export class Stillness {
  readonly #scene: Scene;
  readonly #records = new Map<string, Standing>();
  readonly #places = new Map<string, Map<bigint, Place>>();
  readonly #rows = new Map<string, Row>();
  /** When leases were released or lost, by fence and name. */
  readonly #overMs = new Map<string, number>();

  constructor(scene: Scene) {
    this.#scene = scene;
  }

  of(name: string): Still {
    return this.#ofStanding(name, this.#records.get(name) ?? BEGINNING);
  }

  /** The length of a process's place, in milliseconds; 0 without a place. */
  placeLeaseMs(name: string, by: string): number {
    return this.#ownPlace(name, by)?.[1].leaseMs ?? 0;
  }

  /**
   * The most tickets that the places before a waiter can have: those that are there, or were there after this moment. A
   * place may have all tickets since the last one of the place before it, for several waiters of its process.
   */
  ticketsBefore(name: string, by: string, atMs: number): bigint {
    const own = this.#ownPlace(name, by)?.[0];
    if (own === undefined) return 0n;
    const all = [...(this.#places.get(name) ?? [])];
    const isThere = ([, { holder, sinceMs }]: [bigint, Place]): boolean =>
      holder !== undefined || sinceMs > atMs;
    const first = leastOf(all.filter(isThere).map(([ticket]) => ticket)) ?? own;
    const older = all.map(([ticket]) => ticket).filter((ticket) => ticket < first);
    return own - older.reduce((last, ticket) => (ticket > last ? ticket : last), 0n);
  }

  /** Since when the places before a waiter are unchanged or gone. A waiter without a place is behind all others. */
  placesBefore(name: string, by: string): readonly Still[] {
    const all = [...(this.#places.get(name) ?? [])];
    const before = this.#ownPlace(name, by)?.[0] ?? NO_TICKET;
    return all
      .filter(([ticket, place]) => ticket < before && place.by !== by)
      .map(([, place]) => this.#ofStanding(name, place));
  }

  /** When a process took its place; 0 without a place. Before, it had no reason to watch the places before this one. */
  takenMs(name: string, by: string): number {
    return this.#ownPlace(name, by)?.[1].takenMs ?? 0;
  }

  #ownPlace(name: string, by: string): [bigint, Place] | undefined {
    const all = [...(this.#places.get(name) ?? [])];
    return all.findLast(([, place]) => place.by === by && place.holder !== undefined);
  }

  #ofStanding(name: string, standing: Standing): Still {
    const { sinceMs, leaseMs = 0, holder, session } = standing;
    if (holder === undefined) return { sinceMs, leaseMs: 0, standing };
    if (session === undefined) return { sinceMs, leaseMs, standing };
    const row = this.#rows.get(session);
    if (row === undefined || row.state === "gone") {
      return { sinceMs: Math.max(sinceMs, row?.sinceMs ?? 0), leaseMs, standing };
    }
    if (row.state === "ended") {
      return { sinceMs: Math.max(sinceMs, row.sinceMs), leaseMs: 0, standing };
    }
    const givenUpMs = this.#givenUpMs(name, standing);
    const aliveMs = Math.max(sinceMs, row.sinceMs);
    return givenUpMs !== undefined && givenUpMs < aliveMs
      ? { sinceMs: Math.max(sinceMs, givenUpMs), leaseMs, standing }
      : { sinceMs: aliveMs, leaseMs: row.leaseMs, standing };
  }

  // The process keeps freeing the record, unless it is hindered, or dead; a dead process's session dies too.
  #givenUpMs(name: string, { by, fence }: Standing): number | undefined {
    const overMs = this.#overMs.get(`${fence} ${name}`);
    const ableMs = this.#scene.ableSinceMs(by);
    return overMs === undefined || ableMs === undefined ? undefined : Math.max(overMs, ableMs);
  }

  see(event: Timed): void {
    const { kind, atMs } = event;
    if (kind === "record") {
      const { by, fence, leaseMs, holder, session } = event;
      this.#records.set(event.name, { sinceMs: atMs, by, fence, leaseMs, holder, session });
    } else if (kind === "place") {
      this.#seePlace(event);
    } else if (kind === "session row") {
      const leaseMs = event.leaseMs ?? this.#rows.get(event.session)?.leaseMs ?? 0;
      const ended = event.holder === undefined ? "ended" : "alive";
      const state = event.version === undefined ? "gone" : ended;
      this.#rows.set(event.session, { state, sinceMs: atMs, leaseMs });
    } else if (kind === "lost" || kind === "released") {
      this.#overMs.set(`${event.fence} ${event.name}`, atMs);
    }
  }

  // Only its own process writes and renews a place; a waiter behind it may delete it.
  #seePlace({ name, ticket, by, atMs, ...event }: PlaceChange): void {
    const places = this.#places.get(name) ?? new Map<bigint, Place>();
    this.#places.set(name, places);
    const { by: owner = by, takenMs = atMs } = places.get(ticket) ?? {};
    const { leaseMs, holder, session } = event;
    places.set(ticket, { sinceMs: atMs, by: owner, takenMs, fence: 0n, leaseMs, holder, session });
  }
}
