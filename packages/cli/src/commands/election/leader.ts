import { durationMs, election, type LeaderInfo, shown } from "holdfast/internal";
import { locksOf } from "../../connection.js";
import { Interruptions } from "../../guard/interruptions.js";
import type { Host } from "../../host.js";
import type { CommonOptions } from "../../options.js";
import { EXIT, usageError } from "../../output/exit-codes.js";
import { type AnyLocks, dataText, nameOf, type SortOptions } from "../../output/format.js";
import { jsonLine, type Output, printable } from "../../output/output.js";
import { WATCH_POLL_RANGE } from "../../wait-option.js";

/** The options of `holdfast leader`, as parsed by commander. */
interface LeaderOptions extends CommonOptions, SortOptions {
  readonly watch?: boolean;
  readonly poll?: string;
}

/** Prints the leader, once or at each change. Returns the exit status. */
export async function leader(
  name: string,
  options: LeaderOptions,
  output: Output,
  host: Host,
): Promise<number> {
  const { poll } = options;
  if (poll !== undefined && options.watch !== true) {
    throw usageError("Without --watch, --poll has no effect. Add --watch, or leave it out.");
  }
  if (poll !== undefined) durationMs("poll", poll, WATCH_POLL_RANGE);
  await using locks = await locksOf(options, output);
  const candidate = election(locks, nameOf(name, options), { poll });
  if (options.watch !== true) {
    const found = await candidate.leader();
    print(found, output);
    return found.leader === undefined ? EXIT.notAcquired : EXIT.ok;
  }
  const interruptions = new Interruptions(host, { withReader: true });
  try {
    for await (const found of candidate.observe({ signal: interruptions.ending })) {
      print(found, output);
    }
    // Only an interruption ends the watch.
    return interruptions.exitCode ?? EXIT.ok;
  } finally {
    interruptions.dispose();
  }
}

function print(found: LeaderInfo<AnyLocks>, output: Output): void {
  output.out(output.isJson ? jsonLine(found) : printable(described(found)));
}

function described(found: LeaderInfo<AnyLocks>): string {
  const { name, leader: owner, term, since, value } = found;
  if (owner === undefined) {
    return `"${name}" has no leader${term === undefined ? "" : `; the last term was ${term}`}.`;
  }
  const proclaimed = value === undefined ? "" : `; proclaimed value: ${shown(dataText(value))}`;
  const number = term === undefined ? "" : `, term ${term}`;
  const from = since === undefined ? "" : `, since ${since} by the leader's clock`;
  return `"${name}" is led by ${shown(owner)}${number}${from}${proclaimed}.`;
}
