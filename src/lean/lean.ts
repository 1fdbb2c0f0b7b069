import aws4 from "aws4";
import { Agent, type Dispatcher } from "undici";
import { HoldfastError } from "../errors.js";
import { type Clock, epochMsOf, isoTimeOf, systemClock } from "../platform/clock.js";
import type { DynamoDBLike } from "../platform/dynamodb/sdk.js";
import type { Operation, Sender, Transport } from "../platform/dynamodb/sender.js";
import { type Endpoint, endpointOf } from "./endpoint.js";
import { exchange } from "./exchange.js";
import { refusalOf } from "./refusal.js";
import { bodyOf, parseBody } from "./wire.js";

/** Options of {@link lean}. */
export interface LeanOptions {
  /** How many connections at most, which is how many requests at once. Whole; default 128. */
  readonly connections?: number | undefined;
}

/** What is read of an SDK client's configuration. */
interface SdkConfig {
  readonly region: () => Promise<string>;
  readonly credentials: () => Promise<Credentials>;
}

interface Credentials {
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly sessionToken?: string | undefined;
}

/** Where the requests of one table go, and for which region they are signed. */
interface Destination {
  readonly origin: string;
  readonly host: string;
  readonly path: string;
  readonly region: string;
}

const DEFAULT_CONNECTIONS = 128;
// The SDK's own connections have no bound but the server's: this one lies beyond a usual renewal.
const IDLE_MS = 60_000;
// What the SDK puts up with too: signatures are in force for five minutes.
const MOST_SKEW_MS = 240_000;

/**
 * Sends the requests of locks by itself, as JSON over kept-alive connections, where `client` would have sent
 * them: with its endpoint, region and credentials, all as the SDK finds and refreshes them. For
 * `new Holdfast({ client: lean(client), table })`. Needs the packages `undici` and `aws4`.
 *
 * It does **not** do what else is set up in `client`: its middleware, request handler (so no agent for a
 * proxy), logger, retries and timeouts; a Holdfast client makes its own attempts and has its own timeouts.
 * What is made here outlives the Holdfast client: {@link LeanClient.destroy} closes its connections. Costs no
 * request. Throws `invalid-argument`.
 */
export function lean(client: DynamoDBLike, options: LeanOptions = {}): LeanClient {
  return new LeanClient(client, options);
}

/** A way to DynamoDB beside the SDK's. {@link lean} makes one. */
export class LeanClient implements Transport {
  readonly #client: DynamoDBLike;
  readonly #config: SdkConfig;
  readonly #clock: Clock;
  readonly #agent: Agent;
  /** How far the server's clock is ahead of this machine's, once that is too far for a signature. */
  #skewMs = 0;
  #signingSecond = Number.NaN;
  #signingText = "";

  /** @internal Made by {@link lean}. */
  constructor(client: DynamoDBLike, { connections }: LeanOptions, clock: Clock = systemClock) {
    const config = configOf(client);
    if (connections !== undefined && (!Number.isSafeInteger(connections) || connections < 1)) {
      throw new HoldfastError(
        "invalid-argument",
        `The option \`connections\` must be a whole number from 1, not ${String(connections)}.`,
      );
    }
    this.#client = client;
    this.#config = config;
    this.#clock = clock;
    this.#agent = new Agent({
      connections: connections ?? DEFAULT_CONNECTIONS,
      keepAliveTimeout: IDLE_MS,
      // Each call has its own deadline, which aborts it.
      headersTimeout: 0,
      bodyTimeout: 0,
      allowH2: false,
    });
  }

  /** A way for one table's requests; called by the client for locks, and by nobody else. */
  openSender(onDate: (date: string | undefined) => void): Sender {
    let destination: Promise<Destination> | undefined;
    return async (operation, input, signal) => {
      const { TableName } = input as { readonly TableName: string };
      // Asked again where it failed: what it needs may only be missing for now.
      destination ??= this.#destinationOf(TableName).catch((error: unknown) => {
        destination = undefined;
        throw error;
      });
      const to = await destination;
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
  }

  /** Closes all connections; what is still on its way is answered by nobody. */
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

  // In whole seconds, so many requests share one.
  #signingTime(): string {
    const second = Math.floor((this.#clock.wallMs() + this.#skewMs) / 1_000);
    if (second !== this.#signingSecond) {
      this.#signingSecond = second;
      this.#signingText = isoTimeOf(1_000 * second).replace(/[-:]|\.\d+/g, "");
    }
    return this.#signingText;
  }

  // A request whose signature is refused for its time tells the right time with the refusal.
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
  throw new HoldfastError(
    "invalid-argument",
    "lean() takes a DynamoDBClient of the AWS SDK v3, whose endpoint, region and credentials it uses.",
  );
}

function headerIn(
  headers: Readonly<Record<string, string | string[] | undefined>>,
  name: string,
): string | undefined {
  const value = headers[name];
  return Array.isArray(value) ? value[0] : value;
}
