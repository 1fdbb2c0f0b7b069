interface Node<T> {
  readonly value: T | undefined;
  before: Node<T>;
  after: Node<T>;
}

/** Returns a node that is before the first and after the last of an empty list. */
function endOf<T>(): Node<T> {
  const end = { value: undefined } as Node<T>;
  return Object.assign(end, { before: end, after: end });
}

/** A list of different values, in which each change takes constant time, at any position. */
export class LinkedList<T> implements Iterable<T> {
  readonly #nodes = new Map<T, Node<T>>();
  readonly #end = endOf<T>();

  get size(): number {
    return this.#nodes.size;
  }

  get first(): T | undefined {
    return this.#end.after.value;
  }

  has(value: T): boolean {
    return this.#nodes.has(value);
  }

  addLast(value: T): void {
    this.#insert(value, this.#end);
  }

  addFirst(value: T): void {
    this.#insert(value, this.#end.after);
  }

  #insert(value: T, after: Node<T>): void {
    const { before } = after;
    const node = { value, before, after };
    before.after = node;
    after.before = node;
    this.#nodes.set(value, node);
  }

  /** Removes and returns the first value. */
  shift(): T | undefined {
    const { first } = this;
    if (first !== undefined) this.delete(first);
    return first;
  }

  /** Removes a value. Returns false if the list does not have the value. */
  delete(value: T): boolean {
    const node = this.#nodes.get(value);
    if (node === undefined) return false;
    const { before, after } = node;
    before.after = after;
    after.before = before;
    return this.#nodes.delete(value);
  }

  /** Change the list only after the iteration. */
  *[Symbol.iterator](): Iterator<T> {
    for (let { after } = this.#end; after !== this.#end; after = after.after) {
      yield after.value as T;
    }
  }
}
