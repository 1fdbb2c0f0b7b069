import type { ListedEntry } from "../../index.js";
import { shown } from "../../internal/shown.js";

/** What is wrong with one queue, and what to do about it. */
export interface QueueTrouble {
  readonly message: string;
  readonly fix: string;
}

/** What two listings, with a watch in between, say of the queues that they show. */
export function queueTroubles(
  first: readonly ListedEntry[],
  last: readonly ListedEntry[],
): QueueTrouble[] {
  const before = new Set(first.map((entry) => `${queueOf(entry)}${entry.ticket}`));
  return [...grouped(last)].flatMap(([queue, entries]) => {
    const dead = entries.filter(({ isServed, appearsExpired }) => !isServed && appearsExpired);
    // Whoever was granted removes its entry by its next request: only one that stays was left behind.
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
  const words = ["holdfast lock", name, "--fair", ...(namespace ? ["--namespace", namespace] : [])];
  return {
    message: `${queue} has ${places(dead)} of waiters who have not renewed them for their lease: ${owners(dead)}.`,
    fix:
      "Nothing, where others wait or come: they remove them. Until then tryAcquire() gets nothing. " +
      `To remove them now: ${words.join(" ")} --wait forever -- true`,
  };
}

function leftTrouble(queue: string, left: readonly ListedEntry[]): QueueTrouble {
  return {
    message: `${queue} has ${places(left)} left behind, whose turn is over: ${owners(left)}.`,
    fix:
      "Nothing: they are in nobody's way, and whoever queues there next removes them, or TTL does. " +
      "Where there are many, find out why processes end just after they were granted a lock.",
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
  const all = [...new Set(entries.map(({ owner }) => shown(owner ?? "nobody named")))];
  const more = all.length > MOST_OWNERS ? `, and ${all.length - MOST_OWNERS} more` : "";
  return `${all.slice(0, MOST_OWNERS).join(", ")}${more}`;
}
