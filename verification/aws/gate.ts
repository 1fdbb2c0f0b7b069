import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import type { Forward, RawAnswer, RawRequest } from "./account.js";
import { isCharged, type Meter } from "./cost.js";
import type { Tables } from "./tables.js";

/** A server on this machine that forwards DynamoDB's requests to the account. */
export interface Gate {
  readonly url: string;
  close(): Promise<void>;
}

type Body = Record<string, unknown> & { TableName?: string; TransactItems?: Body[] };

export interface GateOptions {
  readonly forward: Forward;
  readonly meter: Meter;
  readonly tables: Tables;
  /** The id of the run, in the name and in the tag of each table. */
  readonly run: string;
}

/**
 * Starts a gate for programs that have neither credentials nor regions. The gate adds the run's prefix to each table name,
 * so that no request reaches another table of the account. It tags and lists each new table, counts the cost of each
 * request, and signs it.
 */
export async function startGate(options: GateOptions): Promise<Gate> {
  const passing = new Passing(options);
  const server = createServer((incoming, outgoing) => {
    passing.pass(incoming, outgoing).catch(() => outgoing.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const close = async (): Promise<void> => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
    // The removal must come after every creation.
    await passing.settled();
  };
  return { url: `http://127.0.0.1:${port}`, close };
}

class Passing {
  readonly #options: GateOptions;
  readonly #prefix: string;
  readonly #underWay = new Set<Promise<unknown>>();

  constructor(options: GateOptions) {
    this.#options = options;
    this.#prefix = `holdfast-aws-${options.run}-`;
  }

  async pass(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const operation = String(incoming.headers["x-amz-target"] ?? "").split(".")[1] ?? "";
    const text = await textOf(incoming);
    const body = parsed(text);
    // DynamoDB refuses a request without JSON.
    const answer =
      body === undefined
        ? await this.#send({ operation, body: text })
        : await this.#forward(operation, body);
    outgoing.writeHead(answer.status, answer.headers);
    outgoing.end(answer.body);
  }

  async settled(): Promise<void> {
    await Promise.allSettled(this.#underWay);
  }

  async #send(request: RawRequest): Promise<RawAnswer> {
    const sent = this.#options.forward(request);
    this.#underWay.add(sent);
    try {
      return await sent;
    } finally {
      this.#underWay.delete(sent);
    }
  }

  async #forward(operation: string, body: Body): Promise<RawAnswer> {
    const { meter } = this.#options;
    try {
      meter.charge(operation, body);
    } catch (error) {
      return refused((error as Error).message);
    }
    const isCounted = isCharged(operation);
    const asksItself = body["ReturnConsumedCapacity"] !== undefined;
    const prepared = {
      ...(isCounted && !asksItself ? { ReturnConsumedCapacity: "TOTAL" } : {}),
      ...this.#prefixed(body),
      ...(operation === "CreateTable" ? { Tags: this.#newTable(body) } : {}),
    };
    const answer = await this.#send({ operation, body: JSON.stringify(prepared) });
    const bare = { ...answer, body: answer.body.replaceAll(this.#prefix, "") };
    if (!isCounted || answer.status !== 200) return bare;
    const { ConsumedCapacity, ...rest } = JSON.parse(bare.body) as Body;
    meter.correct(operation, body, ConsumedCapacity);
    return asksItself ? bare : { ...bare, body: JSON.stringify(rest) };
  }

  #newTable({ TableName = "" }: Body): { Key: string; Value: string }[] {
    this.#options.tables.add(this.#prefix + TableName);
    return [{ Key: "holdfast-aws", Value: this.#options.run }];
  }

  #prefixed(body: Body): Body {
    const { TableName, TransactItems } = body;
    const isName = typeof TableName === "string" && TableName !== "";
    const parts = Array.isArray(TransactItems)
      ? TransactItems.map((part) =>
          Object.fromEntries(
            Object.entries(part).map(([action, one]) => [action, this.#prefixed(one as Body)]),
          ),
        )
      : undefined;
    return {
      ...body,
      ...(isName ? { TableName: this.#prefix + TableName } : {}),
      ...(parts === undefined ? {} : { TransactItems: parts as Body[] }),
    };
  }
}

async function textOf(incoming: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  for await (const chunk of incoming) chunks.push(chunk as Buffer);
  return Buffer.concat(chunks).toString();
}

function parsed(text: string): Body | undefined {
  try {
    const body: unknown = JSON.parse(text);
    return typeof body === "object" && body !== null ? (body as Body) : undefined;
  } catch {
    return undefined;
  }
}

/** A refusal that no client retries. */
function refused(message: string): RawAnswer {
  return {
    status: 400,
    headers: { "content-type": "application/x-amz-json-1.0" },
    body: JSON.stringify({ __type: "com.amazon.coral.service#AccessDeniedException", message }),
  };
}
