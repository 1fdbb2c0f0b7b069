/** What a record's user data may be, as its users know it. Texts of JSON; undefined: no data. */
type Text = string | undefined;

export function textOfData(data: unknown): Text {
  return data === undefined ? undefined : JSON.stringify(data);
}

/** The data of the records of a run. */
export class Data {
  readonly #left = new Map<string, Set<Text>>();

  /** A call may write these data, also if it is not granted the lock. */
  mayWrite(name: string, data: unknown): void {
    this.#of(name).add(textOfData(data));
  }

  /** A record with data from an earlier holder: whether they may be these. */
  mayHave(name: string, data: unknown): boolean {
    return this.#of(name).has(textOfData(data));
  }

  #of(name: string): Set<Text> {
    const left = this.#left.get(name) ?? new Set([undefined]);
    this.#left.set(name, left);
    return left;
  }
}

/** The data of a record while one lease holds it. */
export class DataOfLease {
  /** By the number of the write: the values that no acknowledged later write has replaced. */
  readonly #written = new Map<number, Text>();
  #writes = 0;

  constructor(data: unknown) {
    this.#written.set(0, textOfData(data));
  }

  /** How many writes have begun. */
  get writes(): number {
    return this.#writes;
  }

  /** Whether a write is not acknowledged, and so may still be. */
  get isWriting(): boolean {
    return this.#written.size > 1;
  }

  /** What the record may have. A delayed or repeated write never undoes a later one. */
  get values(): readonly Text[] {
    return [...this.#written.values()];
  }

  mayBe(data: unknown): boolean {
    return this.values.includes(textOfData(data));
  }

  /** Notes a write, from its call to its end. Rejects as the call does. */
  async written(data: unknown, call: () => Promise<void>): Promise<void> {
    this.#writes += 1;
    const number = this.#writes;
    this.#written.set(number, textOfData(data));
    await call();
    for (const earlier of this.#written.keys()) {
      if (earlier < number) this.#written.delete(earlier);
    }
  }
}
