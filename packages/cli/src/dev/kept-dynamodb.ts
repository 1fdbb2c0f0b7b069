import {
  appendFileSync,
  closeSync,
  existsSync,
  fstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { dirname, join, resolve } from "node:path";
import { type MemoryAnswer, MemoryDynamoDB, type MemoryDynamoDBOptions } from "@holdfast/testing";
import { CliError, EXIT } from "../output/exit-codes.js";

/** A request as DynamoDB gets it. A line of the file is one that was applied. */
interface AppliedRequest {
  readonly operation: string;
  readonly body: unknown;
}

type Body = Readonly<Record<string, unknown>>;

const WRITES = new Set([
  ...["CreateTable", "DeleteTable", "UpdateTimeToLive"],
  ...["PutItem", "UpdateItem", "DeleteItem", "TransactWriteItems"],
]);

// As long as the engine remembers the token of a transaction.
const TOKEN_LIFE_MS = 600_000;

// A held lock writes a line of some 600 bytes at each renewal.
const MOST_LINES = 10_000;

/**
 * DynamoDB in memory whose applied writes are also lines of a file. At the start the engine applies them again, and then
 * replaces the file by the shortest one with the same tables.
 *
 * A write is in the file before its answer is sent. Not promised: that it survives a crash of the machine.
 */
export class KeptDynamoDB extends MemoryDynamoDB {
  readonly #path: string;
  readonly #nowMs: () => number;
  readonly #onFailure: (error: CliError) => void;
  /** Until when the engine answers the token of a transaction without applying it again. */
  readonly #tokens = new Map<unknown, number>();
  #file: number | undefined;
  #lines = 0;

  /**
   * Reads the directory, or creates it. Throws if it cannot be read or written. A later failure breaks the connection of
   * the request, and calls `onFailure`: the caller then ends the server.
   */
  constructor(
    directory: string,
    options: MemoryDynamoDBOptions,
    onFailure: (error: CliError) => void,
  ) {
    super(options);
    this.#path = join(directory, "tables.jsonl");
    this.#nowMs = options.nowMs;
    this.#onFailure = onFailure;
    // Without `..`, which a directory that is yet to be created could not resolve.
    makeDirectory(resolve(directory));
    try {
      this.#load();
      this.#rewrite();
    } catch (error) {
      throw this.#failure(error);
    }
  }

  override handle(operation: string, body: unknown): MemoryAnswer {
    const { answer, isApplied } = this.#apply(operation, body);
    if (!isApplied) return answer;
    try {
      this.#append({ operation, body });
    } catch (error) {
      const failure = this.#failure(error);
      this.#onFailure(failure);
      throw failure;
    }
    return answer;
  }

  /** Closes the file. Later writes fail. */
  close(): void {
    if (this.#file !== undefined) closeSync(this.#file);
    this.#file = undefined;
  }

  /** Carries a request out. `isApplied`: it is a write that has changed the tables. */
  #apply(operation: string, body: unknown) {
    const given = (body as Body | undefined)?.["ClientRequestToken"];
    const token = operation === "TransactWriteItems" && given !== "" ? given : undefined;
    const nowMs = this.#nowMs();
    for (const [known, untilMs] of this.#tokens) if (untilMs <= nowMs) this.#tokens.delete(known);
    const answer = super.handle(operation, body);
    // A repeated transaction would be refused, or applied twice, once the file has the tables without its token.
    const isRepeated = this.#tokens.has(token);
    const isApplied = answer.status === 200 && WRITES.has(operation) && !isRepeated;
    if (isApplied && token !== undefined) this.#tokens.set(token, nowMs + TOKEN_LIFE_MS);
    return { answer, isApplied };
  }

  #load(): void {
    const lines = textOf(this.#path).split("\n");
    // A line without its end was not answered: the process was killed in between.
    lines.pop();
    for (const [index, line] of lines.entries()) {
      if (!this.#applies(line)) {
        throw this.#problem(`cannot be read at line ${index + 1}. Repair it, or move it away`);
      }
    }
  }

  #applies(line: string): boolean {
    try {
      const { operation, body } = JSON.parse(line) as AppliedRequest;
      if (this.#apply(operation, body).isApplied) return true;
      // The token of this line had been forgotten when the line was written.
      const again = { ...(body as Body), ClientRequestToken: undefined };
      return this.#apply(operation, again).isApplied;
    } catch {
      return false;
    }
  }

  #append(request: AppliedRequest): void {
    if (this.#file === undefined) throw this.#problem("is closed");
    if (statSync(this.#path).ino !== fstatSync(this.#file).ino) {
      throw this.#problem("was taken over by another process");
    }
    // Writes all bytes, unlike a single write.
    appendFileSync(this.#file, lineOf(request));
    this.#lines += 1;
    if (this.#lines > MOST_LINES) this.#rewrite();
  }

  /** Replaces the file at once, so that a crash leaves the old or the new one. */
  #rewrite(): void {
    const next = `${this.#path}.next`;
    writeFileSync(next, [...this.#requests()].map(lineOf).join(""), { flush: true });
    const file = openSync(next, "a");
    renameSync(next, this.#path);
    this.close();
    this.#file = file;
    this.#lines = 0;
  }

  /** The requests that make the present tables. */
  *#requests(): Iterable<AppliedRequest> {
    for (const { TableNames } of this.#pages("ListTables", "ExclusiveStartTableName", {})) {
      for (const TableName of TableNames as readonly string[]) yield* this.#requestsOf(TableName);
    }
  }

  *#requestsOf(TableName: string): Iterable<AppliedRequest> {
    const { Table } = this.#read("DescribeTable", { TableName }) as { Table: Body };
    const { AttributeDefinitions, KeySchema, DeletionProtectionEnabled } = Table;
    const { ReadCapacityUnits, WriteCapacityUnits } = Table["ProvisionedThroughput"] as Body;
    const capacity =
      Table["BillingModeSummary"] === undefined
        ? { ProvisionedThroughput: { ReadCapacityUnits, WriteCapacityUnits } }
        : { BillingMode: "PAY_PER_REQUEST" };
    const keys = { AttributeDefinitions, KeySchema };
    const table = { TableName, ...keys, ...capacity, DeletionProtectionEnabled };
    yield { operation: "CreateTable", body: table };
    const { TimeToLiveDescription } = this.#read("DescribeTimeToLive", { TableName });
    const { AttributeName } = TimeToLiveDescription as Body;
    if (AttributeName !== undefined) {
      const TimeToLiveSpecification = { AttributeName, Enabled: true };
      yield { operation: "UpdateTimeToLive", body: { TableName, TimeToLiveSpecification } };
    }
    for (const { Items } of this.#pages("Scan", "ExclusiveStartKey", { TableName })) {
      for (const Item of Items as readonly unknown[]) {
        yield { operation: "PutItem", body: { TableName, Item } };
      }
    }
  }

  /** The answers of an operation with pages. `start` is the member that asks for the next page. */
  *#pages(operation: string, start: string, body: Body): Iterable<Body> {
    let more: Body = {};
    for (;;) {
      const page = this.#read(operation, { ...body, ...more });
      yield page;
      const last = page[start.replace("ExclusiveStart", "LastEvaluated")];
      if (last === undefined) return;
      more = { [start]: last };
    }
  }

  #read(operation: string, body: Body): Body {
    return super.handle(operation, body).body;
  }

  #problem(what: string): CliError {
    return new CliError("data", EXIT.io, `The file ${this.#path} ${what}.`);
  }

  #failure(error: unknown): CliError {
    if (error instanceof CliError) return error;
    const why = error instanceof Error ? error.message : String(error);
    return this.#problem(`cannot be used: ${why}`);
  }
}

/** Creates a directory and those above it. Throws a {@link CliError} that says what to do. */
function makeDirectory(path: string): void {
  if (existsSync(path)) return;
  const above = dirname(path);
  // A drive that does not exist has nothing above it.
  if (above !== path) makeDirectory(above);
  try {
    // Not `recursive`, with which Node.js repeats the call without end where nothing can be created, as below /proc.
    mkdirSync(path);
  } catch (error) {
    const why = (error as NodeJS.ErrnoException).code ?? String(error);
    const message = `The directory ${path} cannot be created (${why}). Give --data one that you may write to.`;
    throw new CliError("data", EXIT.io, message);
  }
}

function lineOf(request: AppliedRequest): string {
  return `${JSON.stringify(request)}\n`;
}

/** The text of the file, or nothing if there is none. */
function textOf(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return "";
    throw error;
  }
}
