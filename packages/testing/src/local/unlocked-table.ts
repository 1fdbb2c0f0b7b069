import type {
  AttributeValue,
  Condition,
  Increment,
  Item,
  OrElse,
  ReadAnswer,
  ScanAnswer,
  TablePort,
  Transaction,
  TransactionAnswer,
  Write,
  WriteAnswer,
} from "holdfast/internal";

const HOLDER = "holder";
/** The attribute of a permit is this and the id of the permit. */
const PERMIT = "permit#";
const FENCE = "fence#";
/** The weight of all permits of a record, here of the only one. */
const USED = "used";

/**
 * A table of one process, for use without DynamoDB. Every grant gets its own record, so every claim is granted,
 * even if the name has other holders, and every read finds nothing. A record lasts as long as its holder and
 * never longer than the process.
 */
export class UnlockedTable implements TablePort {
  readonly isUnlocked = true;
  readonly clockCorrectionMs = 0;
  readonly #records = new Map<string, Item>();
  /** The highest fence given out: one counter serves all names. */
  #last = 0n;

  async write(write: Write): Promise<WriteAnswer> {
    return this.#carryOut(write, false);
  }

  #carryOut(write: Write, isExact: boolean): WriteAnswer {
    const permit = idAfter(PERMIT, Object.keys(write.change.set));
    const granted = textOf(write.change.set[HOLDER]) ?? permit;
    const holder = granted ?? holderIn(write.condition);
    // A permit may replace another: the condition then has the fence of the other.
    const known = permit === undefined ? holder : holderIn(write.condition);
    const before = granted === undefined || permit !== undefined ? this.#of(known) : undefined;
    if (holder === undefined || (granted === undefined && before === undefined)) {
      return { kind: "refused", item: undefined };
    }
    const item = this.#changed(write, before, isExact);
    if (known !== undefined) this.#records.delete(known);
    // No later request refers to a freed record.
    const isHeld = item[HOLDER] !== undefined || item[`${PERMIT}${holder}`] !== undefined;
    if (isHeld) this.#records.set(holder, item);
    else this.#records.delete(holder);
    return { kind: "applied", item };
  }

  #of(holder: string | undefined): Item | undefined {
    return holder === undefined ? undefined : this.#records.get(holder);
  }

  async transact({ writes }: Transaction): Promise<TransactionAnswer> {
    for (const write of writes) this.#carryOut(write, true);
    return { kind: "applied" };
  }

  async read(): Promise<ReadAnswer> {
    return { kind: "found", item: undefined };
  }

  async scan(): Promise<ScanAnswer> {
    return { kind: "page", items: [], next: undefined, readUnits: 0 };
  }

  async query(): Promise<ScanAnswer> {
    return { kind: "page", items: [], next: undefined, readUnits: 0 };
  }

  #changed(write: Write, before: Item | undefined, isExact: boolean): Item {
    const item: Record<string, AttributeValue> = { ...(before ?? write.key) };
    for (const [attribute, operand] of Object.entries(write.change.set)) {
      const copied = "incrementFrom" in operand && operand.of !== undefined && item[operand.of];
      item[attribute] = copied || this.#value(attribute, operand, before, isExact);
    }
    for (const attribute of write.change.remove) delete item[attribute];
    return item;
  }

  #value(
    attribute: string,
    operand: AttributeValue | Increment | OrElse,
    before: Item | undefined,
    isExact: boolean,
  ): AttributeValue {
    if ("orElse" in operand) return before?.[attribute] ?? operand.orElse;
    if (!("incrementFrom" in operand)) return operand;
    const by = BigInt(operand.by ?? 1);
    const known = before?.[attribute];
    const from = known !== undefined && "N" in known ? BigInt(known.N) : undefined;
    if (from !== undefined) return { N: String(from + by) };
    // Each grant starts a new record, yet its fence is higher than every earlier fence.
    const seed = BigInt(operand.incrementFrom);
    if (attribute === USED) return { N: String(seed + by) };
    const next = (this.#last > seed ? this.#last : seed) + by;
    this.#last = next;
    // A transaction's answer shows no items, so the sender assumes exactly one above the seed.
    return { N: String(isExact ? seed + by : next) };
  }
}

function textOf(value: AttributeValue | Increment | OrElse | undefined): string | undefined {
  return value !== undefined && "S" in value ? value.S : undefined;
}

/** Finds the holder, or the permit, in a condition. */
function holderIn(condition: Condition): string | undefined {
  if (condition.kind === "all" || condition.kind === "any") {
    for (const part of condition.of) {
      const found = holderIn(part);
      if (found !== undefined) return found;
    }
    return undefined;
  }
  if (condition.kind === "present") return idAfter(PERMIT, [condition.attribute]);
  if (condition.kind !== "equals") return undefined;
  return condition.attribute === HOLDER
    ? textOf(condition.value)
    : idAfter(FENCE, [condition.attribute]);
}

function idAfter(prefix: string, attributes: readonly string[]): string | undefined {
  return attributes.find((name) => name.startsWith(prefix))?.slice(prefix.length);
}
