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
} from "../../platform/table.js";

const HOLDER = "holder";

/**
 * A table of one process, for use without DynamoDB. Every grant gets its own record, so every claim is granted,
 * whatever other holders there are, and every read finds nothing. A record lasts as long as its holder and
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
    const granted = textOf(write.change.set[HOLDER]);
    const holder = granted ?? holderIn(write.condition);
    const before = granted === undefined ? this.#records.get(holder ?? "") : undefined;
    if (holder === undefined || (granted === undefined && before === undefined)) {
      return { kind: "refused", item: undefined };
    }
    const item = this.#changed(write, before, isExact);
    // No later request refers to a freed record.
    if (item[HOLDER] === undefined) this.#records.delete(holder);
    else this.#records.set(holder, item);
    return { kind: "applied", item };
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
      item[attribute] = this.#value(attribute, operand, before, isExact);
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
    const next = (this.#last > seed ? this.#last : seed) + by;
    this.#last = next;
    // A transaction's answer shows no items, so the sender assumes exactly one above the seed.
    return { N: String(isExact ? seed + by : next) };
  }
}

function textOf(value: AttributeValue | Increment | OrElse | undefined): string | undefined {
  return value !== undefined && "S" in value ? value.S : undefined;
}

/** Finds the holder in a condition. */
function holderIn(condition: Condition): string | undefined {
  if (condition.kind === "all" || condition.kind === "any") {
    for (const part of condition.of) {
      const found = holderIn(part);
      if (found !== undefined) return found;
    }
    return undefined;
  }
  return condition.kind === "equals" && condition.attribute === HOLDER
    ? textOf(condition.value)
    : undefined;
}
