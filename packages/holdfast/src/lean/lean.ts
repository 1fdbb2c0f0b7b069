import aws4 from "aws4";
import { Agent, type Dispatcher } from "undici";
import { checkNames, type OptionNames, refuse } from "../internal/option-names.js";
import { valueText } from "../internal/value-text.js";
import { type Clock, epochMsOf, isoTimeOf, systemClock } from "../platform/clock.js";
import { type Endpoint, endpointOf } from "../platform/dynamodb/endpoint.js";
import type { DynamoDBLike } from "../platform/dynamodb/sdk.js";
import type { Operation, Sender, Transport } from "../platform/dynamodb/sender.js";
import { exchange } from "./exchange.js";
import { refusalOf } from "./refusal.js";
import { bodyOf, parseBody } from "./wire.js";

/** Options of {@link lean}. */
export interface LeanOptions {
  /** How many connections at most, which is how many requests at once. Whole; default 128. */
  readonly connections?: number | undefined;
}

const LEAN_NAMES: OptionNames<LeanOptions> = { connections: true };

/** The members of an SDK client's configuration that are read. */
interface SdkConfig {
  readonly region: () => Promise<string>;
  readonly credentials: () => Promise<Credentials>;
}

interface Credentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string | undefined;
}

/** The server for the requests of one table, and the region for their signatures. */
interface Destination {
  readonly origin: string;
  readonly host: string;
  readonly path: string;
  readonly region: string;
}

const DEFAULT_CONNECTIONS = 128;
// The SDK never closes an idle connection; this limit is longer than a usual renewal interval.
const IDLE_MS = 60_000;
// The SDK's limit too: signatures are valid for five minutes.
const MOST_SKEW_MS = 240_000;

/**
 * Sends the requests of locks directly, as JSON over kept-alive connections. Requests go where `client` would
 * have sent them, with the endpoint, region and credentials that the SDK finds and refreshes. For
 * `new Holdfast({ client: lean(client), table })`. Needs the packages `undici` and `aws4`.
 *
 * Does **not** use anything else set up in `client`: middleware, request handler (so no agent for a proxy),
 * logger, retries and timeouts. A Holdfast client makes its own attempts and has its own timeouts. The
 * connections outlive the Holdfast client: {@link LeanClient.destroy} closes them. Sends no request. Throws
 * `invalid-argument`.
 */
export function lean(client: DynamoDBLike, options: LeanOptions = {}): LeanClient {
  return new LeanClient(client, checkNames("lean()", options, LEAN_NAMES));
}

/** Sends requests to DynamoDB without the SDK's stack. {@link lean} creates a client. */
export class LeanClient implements Transport {
  readonly #client: DynamoDBLike;
  readonly #config: SdkConfig;
  readonly #clock: Clock;
  readonly #agent: Agent;
  readonly #connections: number;
  /**
   * How far the server's clock is ahead of this machine's clock, once the difference invalidates signatures.
   */
  #skewMs = 0;
  #signingSecond = Number.NaN;
  #signingText = "";

  /** @internal Made by {@link lean}. */
  constructor(client: DynamoDBLike, { connections }: LeanOptions, clock: Clock = systemClock) {
    const config = configOf(client);
    if (connections !== undefined && (!Number.isSafeInteger(connections) || connections < 1)) {
      throw refuse(
        `The option \`connections\` must be a whole number from 1, not ${valueText(connections)}.`,
      );
    }
    this.#client = client;
    this.#config = config;
    this.#clock = clock;
    this.#connections = connections ?? DEFAULT_CONNECTIONS;
    this.#agent = new Agent({
      connections: this.#connections,
      keepAliveTimeout: IDLE_MS,
      // Each call has its own deadline, which aborts the request.
      headersTimeout: 0,
      bodyTimeout: 0,
      allowH2: false,
    });
  }

  /** Opens a sender for one table's requests. Only the Holdfast client calls this method. */
  openSender(): Sender {
    let destination: Promise<Destination> | undefined;
    let last: string | undefined;
    const send: Sender = async (operation, input, signal, onDate) => {
      const { TableName } = input as { readonly TableName: string };
      // A failure may be temporary, so the next request resolves the destination again.
      destination ??= this.#destinationOf(TableName).catch((error: unknown) => {
        destination = undefined;
        throw error;
      });
      const to = await destination;
      last = to.origin;
      const body = bodyOf(input);
      const request = this.#signed(to, operation, body, await this.#config.credentials());
      const answer = await exchange(this.#agent, request, signal);
      const date = headerIn(answer.headers, "date");
      this.#correctSkew(date);
      onDate(date);
      if (answer.status === 200) return parseBody(answer.text);
      const type = headerIn(answer.headers, "x-amzn-errortype");
      throw refusalOf(answer.status, type, answer.text);
    };
    return Object.assign(send, {
      tellsDate: true,
      lastEndpoint: () => last,
      connections: () => this.#connections,
    } as const);
  }

  /** Closes all connections; requests in flight fail. */
  destroy(): Promise<void> {
    return this.#agent.destroy();
  }

  async #destinationOf(table: string): Promise<Destination> {
    const region = await this.#config.region();
    const { protocol, hostname, port, path }: Endpoint = await endpointOf(this.#client, table);
    const host = port === undefined ? hostname : `${hostname}:${port}`;
    return { origin: `${protocol}//${host}`, host, path, region };
  }

  #signed(
    { origin, host, path, region }: Destination,
    operation: Operation,
    body: string,
    credentials: Credentials,
  ): Dispatcher.DispatchOptions {
    const signed = aws4.sign(
      {
        service: "dynamodb",
        region,
        method: "POST",
        host,
        path,
        headers: {
          Host: host,
          "Content-Type": "application/x-amz-json-1.0",
          "X-Amz-Date": this.#signingTime(),
          "X-Amz-Target": `DynamoDB_20120810.${operation}`,
        },
        body,
      },
      {
        accessKeyId: credentials.accessKeyId,
        secretAccessKey: credentials.secretAccessKey,
        ...(credentials.sessionToken ? { sessionToken: credentials.sessionToken } : {}),
      },
    );
    return {
      origin,
      method: "POST",
      path,
      headers: signed.headers as Record<string, string>,
      body,
    };
  }

  // In whole seconds, so that many requests share a signing time.
  #signingTime(): string {
    const second = Math.floor((this.#clock.wallMs() + this.#skewMs) / 1_000);
    if (second !== this.#signingSecond) {
      this.#signingSecond = second;
      this.#signingText = isoTimeOf(1_000 * second).replace(/[-:]|\.\d+/g, "");
    }
    return this.#signingText;
  }

  // A refusal of an expired signature carries the server's time.
  #correctSkew(date: string | undefined): void {
    const serverMs = epochMsOf(date);
    if (serverMs === undefined) return;
    const aheadMs = serverMs - this.#clock.wallMs();
    if (Math.abs(aheadMs - this.#skewMs) >= MOST_SKEW_MS) this.#skewMs = aheadMs;
  }
}

function configOf(client: DynamoDBLike): SdkConfig {
  const config = (client as Partial<DynamoDBLike> | null | undefined)?.config as
    | Partial<SdkConfig>
    | undefined;
  if (typeof config?.region === "function" && typeof config.credentials === "function") {
    return config as SdkConfig;
  }
  throw refuse(
    "lean() requires a DynamoDBClient of the AWS SDK v3, for its endpoint, region and credentials.",
  );
}

function headerIn(
  headers: Readonly<Record<string, string | string[] | undefined>>,
  name: string,
): string | undefined {
  const value = headers[name];
  return Array.isArray(value) ? value[0] : value;
}
