import { createServer, type IncomingMessage, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { isCharged } from "./meter.js";
import type { RawAnswer, Scene } from "./scene.js";

/** A server on this machine that forwards DynamoDB's requests to the account. */
export interface Gate {
  readonly url: string;
  /** The tables created through the gate, by their names in the account. */
  readonly tables: ReadonlySet<string>;
  close(): Promise<void>;
}

type Body = Record<string, unknown> & { TableName?: string; TransactItems?: Body[] };

type GateScene = Pick<Scene, "aws" | "meter" | "ledger" | "tags" | "names" | "settings">;

/**
 * Starts a gate for the conformance tests, which have neither credentials nor regions. The gate adds the run's prefix to
 * each table name, so that no request reaches another table of the account. It tags and lists each new table, counts the
 * cost of each request, and signs it.
 */
export async function startGate(scene: GateScene): Promise<Gate> {
  const tables = new Set<string>();
  const passing = new Passing(scene, tables);
  const server = createServer((incoming, outgoing) => {
    passing.pass(incoming, outgoing).catch(() => outgoing.destroy());
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const close = async (): Promise<void> => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  return { url: `http://127.0.0.1:${port}`, tables, close };
}

class Passing {
  readonly #scene: GateScene;
  readonly #tables: Set<string>;
  readonly #prefix: string;

  constructor(scene: GateScene, tables: Set<string>) {
    this.#scene = scene;
    this.#tables = tables;
    this.#prefix = `${scene.names.table}-`;
  }

  async pass(incoming: IncomingMessage, outgoing: ServerResponse): Promise<void> {
    const operation = String(incoming.headers["x-amz-target"] ?? "").split(".")[1] ?? "";
    const text = await textOf(incoming);
    const body = parsed(text);
    // DynamoDB refuses a request without JSON.
    const answer =
      body === undefined
        ? await this.#scene.aws.forward({ operation, body: text })
        : await this.#forward(operation, body);
    outgoing.writeHead(answer.status, answer.headers);
    outgoing.end(answer.body);
  }

  async #forward(operation: string, body: Body): Promise<RawAnswer> {
    const { meter, aws } = this.#scene;
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
    const answer = await aws.forward({ operation, body: JSON.stringify(prepared) });
    const bare = { ...answer, body: answer.body.replaceAll(this.#prefix, "") };
    if (!isCounted || answer.status !== 200) return bare;
    const { ConsumedCapacity, ...rest } = JSON.parse(bare.body) as Body;
    meter.correct(operation, body, { ConsumedCapacity });
    return asksItself ? bare : { ...bare, body: JSON.stringify(rest) };
  }

  #newTable({ TableName = "" }: Body): { Key: string; Value: string }[] {
    const name = this.#prefix + TableName;
    this.#tables.add(name);
    this.#scene.ledger.add({ kind: "table", name, region: this.#scene.settings.region });
    return Object.entries(this.#scene.tags).map(([Key, Value]) => ({ Key, Value }));
  }

  #prefixed(body: Body): Body {
    const { TableName, TransactItems } = body;
    const isName = typeof TableName === "string" && TableName !== "";
    const parts = Array.isArray(TransactItems)
      ? TransactItems.map((part) =>
          Object.fromEntries(
            Object.entries(part).map(([kind, of]) => [kind, this.#prefixed(of as Body)]),
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
