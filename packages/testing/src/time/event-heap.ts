/** An event at an instant of virtual time. */
interface PlannedEvent {
  readonly atMs: number;
  readonly run: () => void;
}

interface Entry extends PlannedEvent {
  readonly ordinal: number;
  index: number;
}

function precedes(left: Entry, right: Entry): boolean {
  return left.atMs !== right.atMs ? left.atMs < right.atMs : left.ordinal < right.ordinal;
}

/**
 * A queue of events in order of time; events of the same instant run in the order of insertion. The fixed order
 * makes a run repeatable from its seed. Every entry knows its index, so that a cancelled entry leaves at once:
 * clients set and cancel a timer for every request, and a heap of cancelled entries would grow during the whole
 * simulation.
 */
export class EventHeap {
  readonly #entries: Entry[] = [];
  #nextOrdinal = 0;

  /** The next event to happen. */
  get first(): PlannedEvent | undefined {
    return this.#entries[0];
  }

  /** Adds an event. Returns a function that removes the event. */
  add(atMs: number, run: () => void): () => void {
    const entry: Entry = { atMs, run, ordinal: this.#nextOrdinal++, index: this.#entries.length };
    this.#entries.push(entry);
    this.#rise(entry);
    return () => this.#remove(entry);
  }

  /** Takes the next event out. */
  shift(): PlannedEvent | undefined {
    const entry = this.#entries[0];
    if (entry !== undefined) this.#remove(entry);
    return entry;
  }

  #remove(entry: Entry): void {
    // The entry has already run or was removed.
    if (this.#entries[entry.index] !== entry) return;
    const last = this.#entries.pop();
    if (last === undefined || last === entry) return;
    this.#place(last, entry.index);
    this.#rise(last);
    this.#sink(last);
  }

  #place(entry: Entry, index: number): void {
    entry.index = index;
    this.#entries[index] = entry;
  }

  #rise(entry: Entry): void {
    while (entry.index > 0) {
      const index = entry.index;
      const parentIndex = (index - 1) >> 1;
      const parent = this.#entries[parentIndex];
      if (parent === undefined || !precedes(entry, parent)) return;
      this.#place(parent, index);
      this.#place(entry, parentIndex);
    }
  }

  #sink(entry: Entry): void {
    for (;;) {
      const index = entry.index;
      const left = this.#entries[2 * index + 1];
      const right = this.#entries[2 * index + 2];
      const child =
        left !== undefined && right !== undefined && precedes(right, left) ? right : left;
      if (child === undefined || !precedes(child, entry)) return;
      const childIndex = child.index;
      this.#place(child, index);
      this.#place(entry, childIndex);
    }
  }
}
