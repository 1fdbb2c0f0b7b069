import type { ListedEntry } from "holdfast/admin";
import { shown } from "holdfast/internal";
import { commandLine } from "../../output/shell.js";

/** A problem of one queue, and its fix. */
interface QueueTrouble {
  readonly message: string;
  readonly fix: string;
}

/** Finds problems of queues by two listings, with a watch in between. */
export function queueTroubles(
  first: readonly ListedEntry[],
  last: readonly ListedEntry[],
): QueueTrouble[] {
  const before = new Set(first.map((entry) => `${queueOf(entry)}${entry.ticket}`));
  return [...grouped(last)].flatMap(([queue, entries]) => {
    const dead = entries.filter(({ isServed, appearsExpired }) => !isServed && appearsExpired);
    // A waiter removes its entry with the first request after the grant: only an entry in both listings was left
    // behind.
    const left = entries.filter(
      (entry) => entry.isServed && before.has(`${queueOf(entry)}${entry.ticket}`),
    );
    return [
      ...(dead.length > 0 ? [deadTrouble(queue, dead)] : []),
      ...(left.length > 0 ? [leftTrouble(queue, left)] : []),
    ];
  });
}

function deadTrouble(queue: string, dead: readonly ListedEntry[]): QueueTrouble {
  const [{ name, namespace } = { name: "", namespace: undefined }] = dead;
  const within = namespace === undefined ? [] : [`--namespace=${namespace}`];
  const words = ["lock", name, "--fair", ...within, "--wait", "forever", "--", "true"];
  const command = commandLine(words, [name, namespace]);
  return {
    message: `${queue} has ${places(dead)} of dead waiters, not renewed for a whole lease: ${owners(dead)}.`,
    fix:
      "Nothing: the next waiter removes dead places. Until then tryAcquire() returns null." +
      (command === undefined ? "" : ` To remove dead places now: ${command}`),
  };
}

function leftTrouble(queue: string, left: readonly ListedEntry[]): QueueTrouble {
  return {
    message: `${queue} has ${places(left)} left behind by served waiters: ${owners(left)}.`,
    fix:
      "Nothing: served places block no waiter, and the next waiter, or TTL, removes served places. " +
      "If there are many, find out why processes end just after a grant.",
  };
}

function grouped(entries: readonly ListedEntry[]): Map<string, ListedEntry[]> {
  const queues = new Map<string, ListedEntry[]>();
  for (const entry of entries) {
    const queue = queues.get(queueOf(entry));
    if (queue === undefined) queues.set(queueOf(entry), [entry]);
    else queue.push(entry);
  }
  return queues;
}

function queueOf({ name, namespace }: ListedEntry): string {
  const of = namespace === undefined ? "" : ` in the namespace ${JSON.stringify(namespace)}`;
  return `The queue of ${JSON.stringify(name)}${of}`;
}

function places({ length }: readonly ListedEntry[]): string {
  return length === 1 ? "1 place" : `${length} places`;
}

const MOST_OWNERS = 5;

function owners(entries: readonly ListedEntry[]): string {
  const all = [...new Set(entries.map(({ owner }) => shown(owner ?? "an unnamed owner")))];
  const more = all.length > MOST_OWNERS ? `, and ${all.length - MOST_OWNERS} more` : "";
  return `${all.slice(0, MOST_OWNERS).join(", ")}${more}`;
}
