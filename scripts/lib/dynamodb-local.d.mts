/** A running DynamoDB Local. */
export interface DynamoDBLocal {
  /** Where it answers, on the loopback. */
  readonly endpoint: string;
  /** Settles when the server has ended, for whatever reason. */
  readonly exited: Promise<void>;
  /** Ends it, by its process id; doing so twice is harmless. */
  stop(): Promise<void>;
}

/** What to tell somebody whose machine has no Java. */
export const HOW_TO_GET_JAVA: string;

/** Whether `java` runs here at all. */
export function hasJava(): boolean;

/** Starts a server in memory and answers once it does. `port` left out takes any that is free. */
export function startDynamoDBLocal(options?: { readonly port?: number }): Promise<DynamoDBLocal>;
