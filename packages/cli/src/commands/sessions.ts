import { listSessions, type SessionListing } from "holdfast/admin";
import { checkKey, locksOf } from "../connection.js";
import type { CommonOptions } from "../options.js";
import { EXIT } from "../output/exit-codes.js";
import { columns, jsonLine, type Output, seconds } from "../output/output.js";

const HEADING = ["SESSION", "STATE", "OWNER", "LEASE", "SINCE", "LEASES", "NAMES"] as const;

// A session may have thousands of locks; --json prints all.
const MOST_NAMES = 3;

/** Lists sessions with their locks, by two scans. Returns the exit status. */
export async function sessions(options: CommonOptions, output: Output): Promise<number> {
  const note = output.isJson ? undefined : `This scans the whole table "${options.table}", twice.`;
  await using locks = await locksOf(options, output, { note });
  const found = await listSessions(locks);
  if (output.isJson) for (const session of found) output.out(jsonLine(session));
  else if (found.length > 0) output.out(columns(HEADING, found.map(rowOf), output.width));
  if (!output.isJson) output.note(`${found.length} listed.`);
  if (found.length === 0) await checkKey(locks, options);
  return EXIT.ok;
}

function rowOf({ id, state, owner, leaseMs, openedAt, ...on }: SessionListing): string[] {
  const locks = [...on.locks, ...on.permits.map(({ kind, name }) => `${kind} ${name}`)];
  const more = locks.length > MOST_NAMES ? ", ..." : "";
  return [
    id,
    state,
    owner ?? "",
    leaseMs === undefined ? "" : seconds(leaseMs),
    openedAt ?? "",
    String(locks.length),
    locks.slice(0, MOST_NAMES).join(", ") + more,
  ];
}
