import { Agent, createServer, request as openRequest, type Server } from "node:http";
import {
  operationOf,
  type WireHeaders,
  wholeBody,
} from "../../packages/testing/src/proxy/proxy-messages.js";
import { semaphoreIn, semaphoreOf, ticketOf } from "./permit-sightings.js";
import type { Observed, Referee } from "./referee.js";

interface Attributes {
  readonly [name: string]: { readonly S?: string; readonly N?: string } | undefined;
}

interface Asked {
  readonly ClientRequestToken?: string;
  readonly Key?: Attributes;
  readonly TransactItems?: readonly {
    readonly Update?: { readonly ExpressionAttributeValues: { ":entry": { L: [{ S: string }] } } };
    readonly ConditionCheck?: { readonly Key: Attributes };
  }[];
}

interface Answered {
  readonly Attributes?: Attributes;
  readonly Item?: Attributes;
  readonly CancellationReasons?: readonly { readonly Code?: string }[];
}

const WRITES = ["UpdateItem", "DeleteItem", "TransactWriteItems"];

const isRefusal = ({ Code }: { readonly Code?: string }): boolean =>
  Code === "ConditionalCheckFailed";

const lockOf = (key: Attributes | undefined): string | undefined => {
  const pk = key?.["pk"]?.S;
  return pk?.startsWith("lock#") ? pk.slice("lock#".length) : undefined;
};

/** Returns the record's state in the table's answer to a write. */
function seenIn(
  operation: string,
  asked: Asked,
  status: number,
  answered: Answered,
): Observed | undefined {
  if (operation === "TransactWriteItems") {
    const [guard, write] = asked.TransactItems ?? [];
    const key = guard?.ConditionCheck?.Key;
    const name = lockOf(key) ?? semaphoreOf(key);
    const entry = write?.Update?.ExpressionAttributeValues[":entry"].L[0].S;
    const fence = entry?.split(" ")[0];
    // Any other error says nothing about the condition.
    const isAnswered = status === 200 || answered.CancellationReasons?.some(isRefusal);
    if (name === undefined || entry === undefined || !fence || !isAnswered) return undefined;
    return { kind: "guarded", name, fence: BigInt(fence), isApplied: status === 200, entry };
  }
  if (operation !== "UpdateItem") return undefined;
  const name = lockOf(asked.Key);
  // After a refusal the error contains the item, which shows the record as well as a success does.
  const record = status === 200 ? answered.Attributes : answered.Item;
  const fence = record?.["fence"]?.N;
  if (name === undefined || fence === undefined) return undefined;
  return { kind: "record", name, fence: BigInt(fence), holder: record?.["holder"]?.S };
}

/** What a witness needs to know. */
export interface WitnessOptions {
  readonly port: number;
  /** The table's address, such as `http://127.0.0.1:8000`. */
  readonly target: () => string;
  readonly referee: Referee;
  /** The sender of these requests. */
  readonly by: () => string;
  /** Called for each request without an answer from the table. */
  readonly onSilence: (why: "refused" | "broken off") => void;
}

/**
 * Stands between the fault proxy and the table and sees what the table really applied, also when the proxy drops the
 * answer. Changes nothing.
 */
export class Witness {
  readonly #options: WitnessOptions;
  readonly #server: Server;
  readonly #agent = new Agent({ keepAlive: false });
  readonly #firstSent = new Map<string, number>();
  requests = 0;

  constructor(options: WitnessOptions) {
    this.#options = options;
    this.#server = createServer(async (incoming, response) => {
      const { headers, method = "POST", url = "/" } = incoming;
      try {
        const body = await wholeBody(incoming);
        const answer = await this.#forward(method, url, headers, body);
        response.writeHead(answer.status, answer.headers).end(answer.body);
      } catch {
        // To the worker, the table itself seems to break the connection.
        response.destroy();
      }
    });
    Object.assign(this.#server, { keepAliveTimeout: 0, requestTimeout: 0, headersTimeout: 0 });
  }

  get endpoint(): string {
    return `http://127.0.0.1:${this.#options.port}`;
  }

  start(): Promise<void> {
    return new Promise((resolve, reject) => {
      this.#server.once("error", reject);
      this.#server.listen(this.#options.port, "127.0.0.1", resolve);
    });
  }

  async close(): Promise<void> {
    const closed = new Promise((resolve) => this.#server.close(resolve));
    this.#server.closeAllConnections();
    this.#agent.destroy();
    await closed;
  }

  async #forward(method: string, path: string, headers: WireHeaders, body: Buffer) {
    const { referee, by } = this.#options;
    this.requests += 1;
    const sender = by();
    const operation = operationOf(headers);
    const isWrite = WRITES.includes(operation);
    const asked = isWrite ? (JSON.parse(`${body}`) as Asked) : {};
    const from = this.#stampOf(asked);
    this.#noteAttempt(sender, asked, from);
    const answer = await this.#send(method, path, headers, body);
    if (!isWrite) return answer;
    const answered = JSON.parse(`${answer.body}`) as Answered;
    const seen = seenIn(operation, asked, answer.status, answered);
    if (seen) referee.note(sender, seen, from);
    const semaphore = semaphoreIn(asked.Key, answered.Attributes ?? answered.Item);
    if (semaphore) referee.noteSemaphore(semaphore, from);
    const ticket = answer.status === 200 ? ticketOf(asked.Key) : undefined;
    if (ticket !== undefined) referee.notePlace(ticket, sender, operation !== "DeleteItem");
    return answer;
  }

  #noteAttempt(by: string, { TransactItems: [guard, write] = [] }: Asked, from: number): void {
    const name = lockOf(guard?.ConditionCheck?.Key);
    const entry = write?.Update?.ExpressionAttributeValues[":entry"].L[0].S;
    const { attempts } = this.#options.referee;
    if (name === undefined || entry === undefined || attempts.has(entry)) return;
    attempts.set(entry, { name, by, from, fence: BigInt(entry.split(" ")[0] ?? "") });
  }

  // A repeated transaction is answered with success, though the table carried it out the first time.
  #stampOf({ ClientRequestToken: token }: Asked): number {
    const stamp = this.#options.referee.stamp();
    if (token === undefined) return stamp;
    const first = this.#firstSent.get(token) ?? stamp;
    this.#firstSent.set(token, first);
    return first;
  }

  #send(method: string, path: string, headers: WireHeaders, body: Buffer) {
    const { target, onSilence } = this.#options;
    return new Promise<{ status: number; headers: WireHeaders; body: Buffer }>(
      (resolve, reject) => {
        const fail = (error: Error & { code?: string }): void => {
          onSilence(error.code === "ECONNREFUSED" ? "refused" : "broken off");
          reject(error);
        };
        const url = new URL(path, target());
        const outgoing = openRequest(url, { method, headers, agent: this.#agent });
        outgoing.once("error", fail);
        outgoing.once("response", (incoming) => {
          const { statusCode: status = 502 } = incoming;
          wholeBody(incoming).then(
            (whole) => resolve({ status, headers: incoming.headers, body: whole }),
            fail,
          );
        });
        outgoing.end(body);
      },
    );
  }
}
