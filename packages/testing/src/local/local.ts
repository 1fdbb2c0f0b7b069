import { Holdfast, HoldfastError, type HoldfastOptions } from "holdfast";
import { MemoryTable } from "../table/memory-table.js";
import { UnlockedTable } from "./unlocked-table.js";

/** The options of a client without DynamoDB: those of {@link Holdfast}, without the connection. */
export interface LocalOptions
  extends Omit<HoldfastOptions, "client" | "table" | "keys" | "format"> {
  /** The name of a table in the memory of this process. All clients with this name share it. Default `local`. */
  readonly table?: string | undefined;
}

const tables = new Map<string, MemoryTable>();

/**
 * Makes a client on a table in the memory of this process. Locks, permits, elections, `once`, sessions and listings work as on
 * DynamoDB, and all clients of the same `table` in this process exclude each other. The client does **not** exclude other
 * processes, and everything is gone when the process ends. Sends no request.
 * @example
 * const locks = isDevelopment ? local() : new Holdfast({ client, table: "locks" });
 */
export function local(options: LocalOptions = {}): Holdfast {
  const { table = "local", ...others } = checkObject(options);
  const known = tables.get(table);
  const client = known ?? new MemoryTable({ keyAttributes: ["pk", "sk"], keepsLog: false });
  tables.set(table, client);
  return new Holdfast({ ...others, client, table });
}

/**
 * Makes a client that grants everything: every lock is free and every candidate leads, even several at once. The client
 * excludes **no** other holder, not even in this process. `inspect()` says `unlocked`, and listings are empty. For a
 * program that needs the API and no lock. Sends no request.
 */
export function unlocked(options: Omit<LocalOptions, "table"> = {}): Holdfast {
  return new Holdfast({ ...checkObject(options), client: new UnlockedTable(), table: "unlocked" });
}

// The client checks the names. Spread, what is no object would count as no options.
function checkObject(options: LocalOptions): LocalOptions {
  if (typeof options === "object" && options !== null && !Array.isArray(options)) return options;
  throw new HoldfastError("invalid-argument", "The options of a local client must be an object.");
}
