/** A running DynamoDB Local. */
export interface DynamoDBLocal {
  /** Where it answers, on the loopback. */
  readonly endpoint: string;
  /** Settles when the server has ended, for whatever reason. */
  readonly exited: Promise<void>;
  /** Ends it, by its process id; doing so twice is harmless. */
  stop(): Promise<void>;
  /** Ends it in the middle of whatever it is doing. */
  kill(): Promise<void>;
}

/** What to tell somebody whose machine has no Java. */
export const HOW_TO_GET_JAVA: string;

/** Whether `java` runs here at all. */
export function hasJava(): boolean;

/** What a server is started with. */
export interface DynamoDBLocalOptions {
  /** Left out: any that is free. */
  readonly port?: number;
  /** A directory that keeps the data when the server ends; left out, the data is in memory. */
  readonly dbPath?: string;
  /** In place of those of a small, short run. */
  readonly jvmFlags?: readonly string[];
}

/** Starts a server and answers once it does. */
export function startDynamoDBLocal(options?: DynamoDBLocalOptions): Promise<DynamoDBLocal>;
