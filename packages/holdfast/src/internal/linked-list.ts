interface Node<T> {
  readonly value: T;
  before: Node<T> | undefined;
  after: Node<T> | undefined;
}

/** A list of different values, in which each change takes constant time, at any position. */
export class LinkedList<T> implements Iterable<T> {
  readonly #nodes = new Map<T, Node<T>>();
  #first: Node<T> | undefined;
  #last: Node<T> | undefined;

  get size(): number {
    return this.#nodes.size;
  }

  get first(): T | undefined {
    return this.#first?.value;
  }

  has(value: T): boolean {
    return this.#nodes.has(value);
  }

  addLast(value: T): void {
    const node: Node<T> = { value, before: this.#last, after: undefined };
    if (this.#last === undefined) this.#first = node;
    else this.#last.after = node;
    this.#last = node;
    this.#nodes.set(value, node);
  }

  addFirst(value: T): void {
    const node: Node<T> = { value, before: undefined, after: this.#first };
    if (this.#first === undefined) this.#last = node;
    else this.#first.before = node;
    this.#first = node;
    this.#nodes.set(value, node);
  }

  /** Removes and returns the first value. */
  shift(): T | undefined {
    const first = this.#first;
    if (first !== undefined) this.delete(first.value);
    return first?.value;
  }

  /** Removes a value. Returns false if the list does not have the value. */
  delete(value: T): boolean {
    const node = this.#nodes.get(value);
    if (node === undefined) return false;
    const { before, after } = node;
    if (before === undefined) this.#first = after;
    else before.after = after;
    if (after === undefined) this.#last = before;
    else after.before = before;
    return this.#nodes.delete(value);
  }

  /** Change the list only after the iteration. */
  *[Symbol.iterator](): Iterator<T> {
    for (let node = this.#first; node !== undefined; node = node.after) yield node.value;
  }
}
