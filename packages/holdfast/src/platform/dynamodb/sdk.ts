import {
  DeleteItemCommand,
  type DynamoDBClient,
  GetItemCommand,
  PutItemCommand,
  QueryCommand,
  ScanCommand,
  TransactWriteItemsCommand,
  UpdateItemCommand,
} from "@aws-sdk/client-dynamodb";
import { abortSignalOf, type SignalLike } from "../abort.js";
import { checkProtocol } from "./protocol.js";
import type { OnDate, Operation, Sender } from "./sender.js";

/**
 * The part of an SDK v3 client that the library uses: a `DynamoDBClient`, or lib-dynamodb's document client.
 * Recognised by shape, so that a second copy of the same version also works. The document client sends low-level
 * commands through the same stack.
 */
export interface DynamoDBLike {
  readonly config: object;
  send(command: never, options?: { readonly abortSignal?: AbortSignal }): Promise<unknown>;
}

/**
 * Whether a client is lib-dynamodb's document client. Recognised by its static method `from`, which `DynamoDBClient`
 * lacks in every version, and whose name survives a minifier. Both clients share one configuration, so the
 * configuration does not show the difference.
 */
export function isDocumentClient(client: object): boolean {
  return (
    typeof (client.constructor as { readonly from?: unknown } | undefined)?.from === "function"
  );
}

/** A command class, with a constructor that accepts any input. */
type Command = new (input: never) => object;

const COMMANDS: Readonly<Record<Operation, Command>> = Object.freeze({
  UpdateItem: UpdateItemCommand,
  PutItem: PutItemCommand,
  DeleteItem: DeleteItemCommand,
  TransactWriteItems: TransactWriteItemsCommand,
  GetItem: GetItemCommand,
  Scan: ScanCommand,
  Query: QueryCommand,
});

/** Makes a sender over the AWS SDK v3. Requests use all of the client's middleware except retries. */
export function senderOver(client: DynamoDBLike): Sender {
  const own = withoutRetries(client);
  const isWrapped = own !== (client as unknown);
  if (!isWrapped) {
    // Async, so that an exception which the client throws synchronously becomes a rejection.
    const send: Sender = async (operation, input, signal) =>
      client.send(new COMMANDS[operation](input as never) as never, {
        abortSignal: abortSignalOf(signal),
      });
    // The client's retries cannot be removed, and a wrapper around the client may retry without a trace in the
    // answer.
    return Object.assign(send, { maySendAgain: true } as const);
  }
  let last: Place | undefined;
  const sending: DynamoDBLike = preparedOnce(own, (place) => {
    last = place;
  });
  const send: Sender = async (operation, input, signal, onDate) => {
    const command = new COMMANDS[operation](input as never);
    return sending.send(Object.assign(command, { [SIGNAL]: signal, [ON_DATE]: onDate }) as never);
  };
  const lastEndpoint = (): string | undefined => last && endpointText(last);
  const handler = (client.config as Partial<Handling["config"]>).requestHandler;
  return Object.assign(send, {
    tellsDate: true,
    lastEndpoint,
    connections: () => poolsOf(handler)[last?.protocol === "http:" ? 1 : 0]?.maxSockets,
    waitingForConnection: () => waitingForConnection(client),
  } as const);
}

/** The members of an agent of Node.js that are read. */
interface Pool {
  readonly maxSockets?: number;
  readonly requests?: Readonly<Record<string, readonly unknown[] | undefined>>;
}

/** Returns the pools of connections of the SDK's handler for Node.js, once it has sent a request. */
function poolsOf(handler: Handler | undefined): readonly (Pool | undefined)[] {
  const { httpAgent, httpsAgent } = handler?.httpHandlerConfigs?.() ?? {};
  return [httpsAgent, httpAgent];
}

/** Returns how many requests of the program wait for a connection of this client; 0 if not known. */
export function waitingForConnection(client: DynamoDBLike): number {
  // A wrapper around a client may have no `config`.
  const { requestHandler }: Partial<Handling["config"]> =
    (client as Partial<Handling>).config ?? {};
  return poolsOf(requestHandler).map(waitingIn).reduce(sum, 0);
}

const waitingIn = ({ requests = {} }: Pool = {}): number =>
  Object.values(requests)
    .map((waiting) => waiting?.length ?? 0)
    .reduce(sum, 0);

const sum = (one: number, other: number): number => one + other;

/** The endpoint of a request. The sender keeps no request, because a request would keep its body in memory. */
interface Place {
  readonly protocol?: string;
  readonly hostname?: string;
  readonly port?: number | undefined;
}

function endpointText({ protocol, hostname, port }: Place): string {
  return `${protocol}//${hostname}${port === undefined ? "" : `:${port}`}`;
}

const SIGNAL = Symbol("holdfast.abortSignal");
const ON_DATE = Symbol("holdfast.onDate");

/** The members of the SDK's client that the copy replaces. */
interface Handling {
  readonly config: { readonly requestHandler: Handler };
  readonly middlewareStack: Stack;
}

interface Handler {
  httpHandlerConfigs?(): { readonly httpAgent?: Pool; readonly httpsAgent?: Pool };
  handle(request: unknown, options: { readonly abortSignal?: AbortSignal }): Promise<Answered>;
}

interface Answered {
  readonly response?: { readonly headers?: Record<string, string> };
}

/**
 * Returns a copy of the client with a middleware stack built once for each kind of command. The SDK builds the
 * stack anew for every request with options, and its `cacheMiddleware` covers only requests without options. So
 * the signal travels with the command and is handed over at the end of the stack.
 */
function preparedOnce(client: DynamoDBClient, onPlace: (place: Place) => void): DynamoDBClient {
  const { config, middlewareStack } = client as unknown as Handling;
  middlewareStack.add(
    () => (args: { readonly request: Place; readonly [SIGNAL]?: SignalLike }) => {
      const { request, [SIGNAL]: signal } = args;
      const { protocol, hostname, port } = request;
      checkProtocol(request);
      if (hostname !== undefined) onPlace({ protocol, hostname, port } as Place);
      // The SDK expects an absent property, not undefined.
      return config.requestHandler.handle(
        request,
        signal === undefined ? {} : { abortSignal: abortSignalOf(signal) },
      );
    },
    { name: "holdfastSignal", step: "deserialize", priority: "low", override: true },
  );
  // Own properties only: the SDK spreads the configuration.
  const value = Object.defineProperties({}, Object.getOwnPropertyDescriptors(config));
  return derived(client, {
    config: { value: Object.assign(value, { cacheMiddleware: true }) },
  });
}

/**
 * Returns a copy of the client with these properties replaced. The SDK caches its built stacks in `handlers`,
 * by kind of command. An inherited cache would serve both clients, and each would send requests through the
 * stack of the other, with or without retries.
 */
function derived(client: object, properties: PropertyDescriptorMap): DynamoDBClient {
  // Writable like the SDK's: the SDK assigns and deletes this property.
  const handlers = { value: undefined, writable: true, configurable: true };
  return Object.create(client, { ...properties, handlers }) as DynamoDBClient;
}

interface Stack {
  clone(): Stack;
  add(middleware: unknown, options: object): void;
}

/**
 * Returns a copy of the client without SDK retries. The copy reports the `Date` of each answer: to the request's own
 * receiver if a sender made the request, else to `onDate`. The core makes its own attempts. An SDK attempt that is
 * still in flight after another attempt was answered turns a success into a failed condition. A client of another
 * shape is used unchanged; its answers then say how often the SDK tried.
 */
export function withoutRetries(
  client: DynamoDBLike,
  onDate: OnDate = () => undefined,
): DynamoDBClient {
  const stack = (client as { middlewareStack?: Stack }).middlewareStack;
  if (typeof stack?.clone !== "function") return client as unknown as DynamoDBClient;
  const own = stack.clone();
  // Takes the place and name of the SDK's middleware: other middleware is positioned relative to this name.
  own.add((next: (args: unknown) => unknown) => (args: unknown) => next(args), {
    name: "retryMiddleware",
    step: "finalizeRequest",
    priority: "high",
    override: true,
  });
  own.add(
    (next: (args: unknown) => Promise<Answered>) =>
      async (args: { readonly [ON_DATE]?: OnDate }) => {
        const result = await next(args);
        (args[ON_DATE] ?? onDate)(result.response?.headers?.["date"]);
        return result;
      },
    { name: "holdfastDate", step: "deserialize", priority: "low", override: true },
  );
  return derived(client, { middlewareStack: { value: own } });
}
