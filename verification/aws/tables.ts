import { setTimeout as pause } from "node:timers/promises";
import type { Forward } from "./account.js";

/** A table after a failed removal. */
export interface Leftover {
  readonly table: string;
  readonly reason: string;
}

export interface TablesOptions {
  readonly forward: Forward;
  /** Saves the list outside the process. */
  readonly save: (tables: readonly string[]) => void;
  /** For how long to retry a refused removal: DynamoDB refuses to delete a table that it is still creating. */
  readonly patienceMs: number;
  readonly retryMs: number;
}

/** The list of the tables of a run. The list has each table before the request for its creation. */
export class Tables {
  readonly #options: TablesOptions;
  #names: readonly string[];

  constructor(options: TablesOptions, names: readonly string[] = []) {
    this.#options = options;
    this.#names = names;
  }

  get names(): readonly string[] {
    return this.#names;
  }

  add(table: string): void {
    if (!this.#names.includes(table)) this.#keep([...this.#names, table]);
  }

  /** Never rejects: a table whose removal failed is returned, and stays in the list. */
  async removeAll(): Promise<Leftover[]> {
    const untilMs = performance.now() + this.#options.patienceMs;
    const leftovers = await Promise.all(this.#names.map((table) => this.#remove(table, untilMs)));
    return leftovers.filter((one) => one !== undefined);
  }

  async #remove(table: string, untilMs: number): Promise<Leftover | undefined> {
    for (;;) {
      const reason = await this.#refusal(table);
      if (reason === undefined) {
        this.#keep(this.#names.filter((one) => one !== table));
        return undefined;
      }
      if (!isPassing(reason) || performance.now() >= untilMs) return { table, reason };
      await pause(this.#options.retryMs);
    }
  }

  /** Why the table is still there; undefined if it is gone. */
  async #refusal(table: string): Promise<string | undefined> {
    const body = JSON.stringify({ TableName: table });
    try {
      const answer = await this.#options.forward({ operation: "DeleteTable", body });
      const isGone = answer.status === 200 || answer.body.includes("ResourceNotFoundException");
      return isGone ? undefined : answer.body;
    } catch (error) {
      return (error as Error).message;
    }
  }

  #keep(names: readonly string[]): void {
    this.#names = names;
    this.#options.save(names);
  }
}

// A retry helps after a lost connection, a throttle or a wrong state of the table, and not without a permission.
function isPassing(reason: string): boolean {
  return !/denied|not ?authorized|credentials|expired|UnrecognizedClient/i.test(reason);
}
