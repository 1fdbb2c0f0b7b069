/** A running DynamoDB Local. */
export interface DynamoDBLocal {
  /** The address of the server, on the loopback. */
  readonly endpoint: string;
  /** Settles when the server has ended, for any reason. */
  readonly exited: Promise<void>;
  /** Stops the server by its process id. Idempotent. */
  stop(): Promise<void>;
  /** Kills the server at once. */
  kill(): Promise<void>;
}

/** The advice for a machine without Java. */
export const HOW_TO_GET_JAVA: string;

/** Whether `java` runs on this machine. */
export function hasJava(): boolean;

/** The options of a server. */
export interface DynamoDBLocalOptions {
  /** The port; default any free port. */
  readonly port?: number;
  /** A directory that keeps the data after the server's end; by default the data is in memory. */
  readonly dbPath?: string;
  /** JVM flags; default flags for a small, short run. */
  readonly jvmFlags?: readonly string[];
}

/** Starts a server and resolves when the server answers. */
export function startDynamoDBLocal(options?: DynamoDBLocalOptions): Promise<DynamoDBLocal>;
