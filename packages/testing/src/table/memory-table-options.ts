import type { Item, OptionNames, Read, Write } from "holdfast/internal";

/** How a table in memory is made. */
export interface MemoryTableOptions {
  /**
   * The names of the key attributes. With `keyAttributes`, a request with a different key answers
   * `misconfigured`, as in DynamoDB. By default the table accepts any key.
   */
  readonly keyAttributes?: readonly string[];
  /**
   * The clock of the table, such as a `VirtualTime`: `nowMs` for the log, `wallMs` for the `Date` of answers. Default:
   * this machine's clocks.
   */
  readonly time?: { readonly nowMs: number; readonly wallMs?: number };
  /** Whether answers have a `Date`, in whole seconds, as in DynamoDB; default true. A `time` without `wallMs` has none. */
  readonly tellsDate?: boolean;
  /** How far behind an eventually consistent read is, in milliseconds of `time`. Default 0. */
  readonly lagMs?: (read: Read) => number;
  /** Whether to keep `log`; default true. For a long simulation use `onChange` instead. */
  readonly keepsLog?: boolean;
  /** Called synchronously after every change. */
  readonly onChange?: (change: TableChange) => void;
  /**
   * Whether to remember transaction tokens for ten minutes of `time`, as DynamoDB does; default true. If false,
   * only the conditions prevent a second application.
   */
  readonly remembersTokens?: boolean;
  /**
   * The page size of scans and queries in bytes; a page ends with the item that fills the page. Default 1 MiB,
   * as in DynamoDB.
   */
  readonly scanPageBytes?: number;
}

export const MEMORY_TABLE_NAMES: OptionNames<MemoryTableOptions> = {
  keyAttributes: true,
  time: true,
  tellsDate: true,
  lagMs: true,
  keepsLog: true,
  onChange: true,
  remembersTokens: true,
  scanPageBytes: true,
};

/** One change of one item. */
export interface TableChange {
  readonly key: Item;
  readonly before: Item | undefined;
  readonly after: Item | undefined;
  /** When, in milliseconds of the table's `time`. */
  readonly atMs: number;
  /** Through the port; by `putItem` or `deleteItem`; or by `deleteExpired`. */
  readonly by: "write" | "hand" | "ttl";
  /** The request, if the change came through the port; undefined for a deletion. */
  readonly write: Write | undefined;
}
