import { randomBytes } from "node:crypto";
import { DynamoDBClient, type DynamoDBClientConfig } from "@aws-sdk/client-dynamodb";
import {
  Holdfast,
  type HoldfastError,
  type HoldfastOptions,
} from "../../packages/holdfast/src/index.js";

/** The SDK's real client for a server on this machine. Destroy the client at the end of the test. */
export function sdkClient(endpoint: string, config: DynamoDBClientConfig = {}): DynamoDBClient {
  return new DynamoDBClient({
    endpoint,
    // Some engines refuse a region that AWS does not have.
    region: "us-east-1",
    credentials: { accessKeyId: "local", secretAccessKey: "local" },
    ...config,
  });
}

/** A unique table name. */
export function freshTable(): string {
  return `locks-${randomBytes(6).toString("hex")}`;
}

/** A client for locks, with its background errors. */
export interface Locker {
  readonly locks: Holdfast;
  readonly reported: HoldfastError[];
}

/** Creates clients for locks, and closes all of them at the end. */
export class Lockers {
  readonly #made: Holdfast[] = [];

  make(options: HoldfastOptions): Locker {
    const reported: HoldfastError[] = [];
    const locks = new Holdfast({ onError: (error) => reported.push(error), ...options });
    this.#made.push(locks);
    return { locks, reported };
  }

  /** Closes all clients; a failed release does not fail the test. */
  async closeAll(): Promise<void> {
    await Promise.allSettled(this.#made.splice(0).map((locks) => locks.close()));
  }
}

/** Waits this many milliseconds of real time. */
export function pause(forMs: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, forMs));
}

/** Checks a condition every few milliseconds until true; rejects after `limitMs`. */
export async function eventually(
  isTrue: () => boolean | Promise<boolean>,
  limitMs = 5_000,
): Promise<void> {
  const untilMs = performance.now() + limitMs;
  while (!(await isTrue())) {
    if (performance.now() > untilMs) throw new Error(`Not true within ${limitMs} ms: ${isTrue}`);
    await pause(5);
  }
}
