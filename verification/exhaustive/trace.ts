import { createHash } from "node:crypto";
import type { VirtualTime } from "../../packages/testing/src/time/virtual-time.js";

/**
 * Everything that decides how a run goes on, in order and with its time: what arrives at the table and changes or may change
 * it, what the processes are answered, and what happens to them. Two runs with equal traces are equal in every state, so
 * that a further fault has the same effects in both.
 */
export class Trace {
  readonly #time: VirtualTime;
  readonly #isKept: boolean;
  readonly #lines: string[] = [];

  /** A run that no other run extends needs no trace, which is a tenth of its work. */
  constructor(time: VirtualTime, isKept: boolean) {
    this.#time = time;
    this.#isKept = isKept;
  }

  add(who: string, what: unknown): void {
    if (this.#isKept) this.#lines.push(`${this.#time.nowMs} ${who} ${textOf(what)}`);
  }

  get hash(): string {
    return createHash("sha1").update(this.#lines.join("\n")).digest("base64");
  }
}

// The cause of a failure is an error, of which only the kind of the answer decides anything.
function textOf(what: unknown): string {
  if (typeof what === "string") return what;
  return JSON.stringify(what, (key, value: unknown) =>
    key === "cause" || key === "error" ? 0 : value,
  );
}
