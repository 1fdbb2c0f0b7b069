import type {
  Call,
  Query,
  Read,
  ReadAnswer,
  Scan,
  ScanAnswer,
  TablePort,
  Transaction,
  TransactionAnswer,
  Write,
  WriteAnswer,
} from "../../packages/holdfast/src/platform/table.js";

/** A request of a process with its answer. */
export type Exchanged =
  | { readonly kind: "write"; readonly write: Write; readonly answer: WriteAnswer }
  | {
      readonly kind: "transact";
      readonly transaction: Transaction;
      readonly answer: TransactionAnswer;
    }
  | { readonly kind: "read"; readonly read: Read; readonly answer: ReadAnswer }
  | { readonly kind: "query"; readonly query: Query; readonly answer: ScanAnswer }
  | { readonly kind: "scan"; readonly scan: Scan; readonly answer: ScanAnswer };

type WithoutAnswer<E> = E extends Exchanged ? Omit<E, "answer"> : never;

/** A request of a process. */
export type Sent = WithoutAnswer<Exchanged>;

/** Sees the requests of a process and their answers. */
export interface Observer {
  sent(request: Sent): void;
  answered(exchanged: Exchanged): void;
}

/** What a table answers. */
type Answer = Exchanged["answer"];

/** The same table, with each request by way of `ask`, which sends it. What `ask` returns goes to the caller as it is. */
export function around(
  table: TablePort,
  ask: <A extends Answer>(request: Sent, send: () => Promise<A>, call: Call) => Promise<A>,
): TablePort {
  const { transact } = table;
  return {
    get clockCorrectionMs(): number {
      return table.clockCorrectionMs;
    },
    tellsDate: table.tellsDate,
    get connections(): number | undefined {
      return table.connections;
    },
    get waitingForConnection(): number | undefined {
      return table.waitingForConnection;
    },
    write: (write, call) => ask({ kind: "write", write }, () => table.write(write, call), call),
    read: (read, call) => ask({ kind: "read", read }, () => table.read(read, call), call),
    scan: (scan, call) => ask({ kind: "scan", scan }, () => table.scan(scan, call), call),
    query: (query, call) => ask({ kind: "query", query }, () => table.query(query, call), call),
    ...(transact === undefined
      ? {}
      : {
          transact: (transaction, call) =>
            ask(
              { kind: "transact", transaction },
              () => transact.call(table, transaction, call),
              call,
            ),
        }),
  };
}

/** The same table, observed. The observer sees an answer before the caller does; the order of events is the same. */
export function observed(table: TablePort, observer: Observer): TablePort {
  // The caller gets the table's own promise: one more step of promises could change the order of a recorded history.
  return around(table, (request, send) => {
    observer.sent(request);
    const answering = send();
    const seen = (answer: Answer): void => observer.answered({ ...request, answer } as Exchanged);
    answering.then(seen, () => undefined);
    return answering;
  });
}
