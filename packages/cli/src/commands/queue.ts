import {
  listQueue,
  type PermitKind,
  type PermitQueueListing,
  type QueuedWaiter,
  type QueueListing,
} from "holdfast/admin";
import { sleep, systemTimers } from "holdfast/internal";
import { locksOf } from "../connection.js";
import { Interruptions } from "../guard/interruptions.js";
import type { Host } from "../host.js";
import type { CommonOptions } from "../options.js";
import { EXIT } from "../output/exit-codes.js";
import { withPending } from "../output/format.js";
import { columns, jsonLine, type Output, outlasting, seconds } from "../output/output.js";
import { assertPlainName, hasPermits, isPermitKind, permitsText } from "../output/permits.js";

/** The options of `holdfast queue`, as parsed by commander. */
interface QueueCommandOptions extends CommonOptions {
  readonly namespace?: string;
  readonly kind?: "lock" | PermitKind;
  readonly watch?: boolean;
}

const HEADING = ["POSITION", "CALLS", "OWNER", "SINCE", "LEASE", "TICKET"] as const;

// Each poll costs a strongly consistent read and a query; an observer need not see every grant.
const WATCH_MS = 2_000;

/** Lists the holder and the waiters of a fair lock, once or until interrupted. Returns the exit status. */
export async function queue(
  name: string,
  options: QueueCommandOptions,
  output: Output,
  host: Host,
): Promise<number> {
  await using locks = await locksOf(options, output);
  const { namespace } = options;
  const { kind } = options;
  const isOfPermits = isPermitKind(kind);
  if (isOfPermits) assertPlainName(options);
  const read = () =>
    isOfPermits
      ? listQueue(locks, name, { kind })
      : listQueue(locks, name, namespace === undefined ? {} : { namespace });
  const shown = (listing: QueueListing | PermitQueueListing): string =>
    output.isJson ? jsonLine(listing) : described(listing, output.width);
  if (options.watch !== true) {
    output.out(shown(await read()));
    return EXIT.ok;
  }
  const interruptions = new Interruptions(host, { withReader: true });
  const polled = outlasting(output, interruptions.ending);
  try {
    let before: string | undefined;
    while (interruptions.exitCode === undefined) {
      const listing = await polled(read);
      if (listing !== undefined) {
        const now = essence(listing);
        if (now !== before) output.out(shown(listing));
        before = now;
      }
      await sleep(systemTimers, WATCH_MS, true, interruptions.ending);
    }
    return interruptions.exitCode;
  } finally {
    interruptions.dispose();
  }
}

// Each renewal changes these, and the time left passes also without one.
const PASSING = { version: undefined, endsAt: undefined, endsInMs: undefined, acquirableInMs: 0 };

/** What a watch compares: equal texts have no change to print. Pure. */
export function essence({ lock, waiters }: QueueListing | PermitQueueListing): string {
  const permits = lock.permits.map((permit) => ({ ...permit, ...PASSING }));
  return jsonLine([{ ...lock, ...PASSING, permits }, waiters]);
}

function described({ lock, waiters }: QueueListing | PermitQueueListing, width: number): string {
  if (hasPermits(lock)) return `${permitsText(lock, width)}\n${waitersText(waiters, width)}`;
  const held = lock.state === "held" ? `held by ${lock.owner ?? lock.holder}` : lock.state;
  return `${columns([lock.name, withPending(held, lock)], [], width)}\n${waitersText(waiters, width)}`;
}

function waitersText(waiters: readonly QueuedWaiter[], width: number): string {
  const rows = waiters.map(({ position, calls, owner, since, leaseMs, ticket, appearsExpired }) => [
    String(position),
    String(calls),
    `${owner ?? ""}${appearsExpired ? " (silent)" : ""}`,
    since ?? "",
    seconds(leaseMs),
    ticket.toString(),
  ]);
  return rows.length === 0 ? "no waiters" : columns(HEADING, rows, width);
}
