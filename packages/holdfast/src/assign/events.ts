import { serialisable } from "../internal/printed.js";
import { tell } from "../internal/tell.js";
import { publish } from "../platform/diagnostics.js";

/** The name of the channel of `node:diagnostics_channel` that assignments publish each {@link AssignmentChange} to. */
export const ASSIGNMENT_CHANNEL = "holdfast:assignment:change";

/**
 * One change of a name at this member, published once.
 * - `assigned`: this member has the lock of the name; published before `run` is called.
 * - `moved`: this member gave the name to another one, which should have it; published after the release.
 * - `revoked`: this member gave the name up: the name is gone from `names`, the assignment stops, or an operator asked.
 * - `lost`: the lease was lost, alone or with the member's session.
 * - `idle`: a name that should run here does not: its run has thrown, somebody who is no member has its lock, or DynamoDB does
 *   not serve the request. The assignment tries again by itself.
 */
export interface AssignmentChange {
  readonly kind: "assigned" | "moved" | "revoked" | "lost" | "idle";
  readonly group: string;
  readonly name: string;
  /** The label of this member. */
  readonly owner: string;
  /** The fence of the lease; undefined without one. */
  readonly fence: bigint | undefined;
  /** With `idle`: why, and with `lost` and `revoked` by an operator: the reason of the signal. */
  readonly error: unknown;
}

/** Publishes the changes of one assignment to the channel and to its listeners. */
export class ChangeMonitor {
  readonly #group: string;
  readonly #owner: string;
  readonly #report: (cause: unknown) => void;
  readonly #listeners = new Set<(change: AssignmentChange) => void>();

  constructor(group: string, owner: string, report: (cause: unknown) => void) {
    this.#group = group;
    this.#owner = owner;
    this.#report = report;
  }

  on(listener: (change: AssignmentChange) => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  tell(kind: AssignmentChange["kind"], name: string, fence?: bigint, error?: unknown): void {
    const [group, owner] = [this.#group, this.#owner];
    const made = (): AssignmentChange => ({ kind, group, name, owner, fence, error });
    publish(ASSIGNMENT_CHANNEL, made);
    if (this.#listeners.size === 0) return;
    const told = serialisable(made());
    for (const listener of this.#listeners) {
      // An error of a listener must not change what runs.
      tell(listener, told, this.#report);
    }
  }
}
