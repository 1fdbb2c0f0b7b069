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
import type { Operation, Sender } from "./sender.js";

/**
 * What is needed of an SDK v3 client: a `DynamoDBClient`, or lib-dynamodb's document client, which
 * sends low-level commands through the same stack. By shape, so that a second copy of the SDK fits.
 */
export interface DynamoDBLike {
  readonly config: object;
  send(command: never, options?: { readonly abortSignal?: AbortSignal }): Promise<unknown>;
}

/** What of the commands is used here: that one can be made of an input that was put together by hand. */
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

/** A sender over the AWS SDK v3, through all that its client does to a request, but its retries. */
export function senderOver(
  client: DynamoDBLike,
  onDate: (date: string | undefined) => void,
): Sender {
  const own = withoutRetries(client, onDate);
  const isWrapped = own !== (client as unknown);
  if (!isWrapped) {
    const send: Sender = (operation, input, signal) =>
      client.send(new COMMANDS[operation](input as never) as never, {
        abortSignal: abortSignalOf(signal),
      });
    // Its retries cannot be taken out, and what is around it may have others, of which no answer tells.
    return Object.assign(send, { maySendAgain: true } as const);
  }
  const sending: DynamoDBLike = preparedOnce(own);
  return (operation, input, signal) => {
    const command = new COMMANDS[operation](input as never);
    return sending.send(Object.assign(command, { [SIGNAL]: signal }) as never);
  };
}

const SIGNAL = Symbol("holdfast.abortSignal");

/** Of the SDK's client and its configuration, what is replaced here. */
interface Handling {
  readonly config: { readonly requestHandler: Handler };
  readonly middlewareStack: Stack;
}

interface Handler {
  handle(request: unknown, options: { readonly abortSignal?: AbortSignal }): Promise<Answered>;
}

interface Answered {
  readonly response?: { readonly headers?: Record<string, string> };
}

/**
 * The same client, whose stack is put together once for each kind of command: the SDK does it anew for
 * every request that has options. Its `cacheMiddleware` is for requests without, so the signal travels with
 * the command, and is handed over at the stack's end.
 */
function preparedOnce(client: DynamoDBClient): DynamoDBClient {
  const { config, middlewareStack } = client as unknown as Handling;
  middlewareStack.add(
    () => (args: { readonly request: unknown; readonly [SIGNAL]?: SignalLike }) => {
      const { request, [SIGNAL]: signal } = args;
      // Not at all rather than undefined, as the SDK has it.
      return config.requestHandler.handle(
        request,
        signal === undefined ? {} : { abortSignal: abortSignalOf(signal) },
      );
    },
    { name: "holdfastSignal", step: "deserialize", priority: "low", override: true },
  );
  // All its own properties: the SDK spreads it.
  const value = Object.defineProperties({}, Object.getOwnPropertyDescriptors(config));
  return derived(client, {
    config: { value: Object.assign(value, { cacheMiddleware: true }) },
  });
}

/**
 * The same client with these properties in place of its own. The SDK caches the stacks that it has put
 * together in `handlers`, by the kind of command: inherited, one cache would serve two clients, and each
 * would send requests through the other's stack, with or without retries.
 */
function derived(client: object, properties: PropertyDescriptorMap): DynamoDBClient {
  // As the SDK's own: it assigns and deletes it.
  const handlers = { value: undefined, writable: true, configurable: true };
  return Object.create(client, { ...properties, handlers }) as DynamoDBClient;
}

interface Stack {
  clone(): Stack;
  add(middleware: unknown, options: object): void;
}

/**
 * The same client, without the SDK's own retries, and with a look at the `Date` of each answer. The
 * kernel makes its own attempts: an attempt of the SDK's that is still on its way after another was
 * answered is the very thing that turns a success into a failed condition. A client of another shape
 * is used as it is; its answers then say how often they were tried.
 */
export function withoutRetries(
  client: DynamoDBLike,
  onDate: (date: string | undefined) => void,
): DynamoDBClient {
  const stack = (client as { middlewareStack?: Stack }).middlewareStack;
  if (typeof stack?.clone !== "function") return client as unknown as DynamoDBClient;
  const own = stack.clone();
  // In place of the SDK's: other middleware finds its own place by this name.
  own.add((next: (args: unknown) => unknown) => (args: unknown) => next(args), {
    name: "retryMiddleware",
    step: "finalizeRequest",
    priority: "high",
    override: true,
  });
  own.add(
    (next: (args: unknown) => Promise<Answered>) => async (args: unknown) => {
      const result = await next(args);
      onDate(result.response?.headers?.["date"]);
      return result;
    },
    { name: "holdfastDate", step: "deserialize", priority: "low", override: true },
  );
  return derived(client, { middlewareStack: { value: own } });
}
