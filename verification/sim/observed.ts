import type {
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

/** The same table, observed. The observer sees an answer before the caller does; the order of events is the same. */
export function observed(table: TablePort, observer: Observer): TablePort {
  // The caller gets the table's own promise: one more step of promises could change the order of a recorded history.
  const ask = <A>(request: Sent, answer: Promise<A>): Promise<A> => {
    const seen = (value: A): void => observer.answered({ ...request, answer: value } as Exchanged);
    answer.then(seen, () => undefined);
    return answer;
  };
  const send = <A>(request: Sent, call: () => Promise<A>): Promise<A> => {
    observer.sent(request);
    return ask(request, call());
  };
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
    write: (write, call) => send({ kind: "write", write }, () => table.write(write, call)),
    read: (read, call) => send({ kind: "read", read }, () => table.read(read, call)),
    scan: (scan, call) => send({ kind: "scan", scan }, () => table.scan(scan, call)),
    query: (query, call) => send({ kind: "query", query }, () => table.query(query, call)),
    ...(transact === undefined
      ? {}
      : {
          transact: (transaction, call) =>
            send({ kind: "transact", transaction }, () => transact.call(table, transaction, call)),
        }),
  };
}
