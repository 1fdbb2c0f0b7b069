/** What an open lease is found by. */
interface Found {
  readonly ref: { readonly id: string };
  readonly held: { readonly holder: string };
}

/** The held leases of one client. One is found without a look at the others: a process may hold thousands. */
export class OpenLeases<L extends Found> implements Iterable<L> {
  readonly #all = new Set<L>();
  readonly #byRecord = new Map<string, Set<L>>();
  /** The newest, of a grant that one lease passes to another. */
  readonly #byHolder = new Map<string, L>();

  get size(): number {
    return this.#all.size;
  }

  add(lease: L): void {
    const { ref, held } = lease;
    this.#all.add(lease);
    const same = this.#byRecord.get(ref.id);
    if (same === undefined) this.#byRecord.set(ref.id, new Set([lease]));
    else same.add(lease);
    this.#byHolder.set(held.holder, lease);
  }

  delete(lease: L): void {
    const { ref, held } = lease;
    this.#all.delete(lease);
    const same = this.#byRecord.get(ref.id);
    same?.delete(lease);
    if (same?.size === 0) this.#byRecord.delete(ref.id);
    if (this.#byHolder.get(held.holder) === lease) this.#byHolder.delete(held.holder);
  }

  /** The first lease of the record with this id: a record of permits can have several. */
  ofRecord(id: string): L | undefined {
    return this.#byRecord.get(id)?.values().next().value;
  }

  ofHolder(holder: string): L | undefined {
    return this.#byHolder.get(holder);
  }

  [Symbol.iterator](): Iterator<L> {
    return this.#all.values();
  }
}
