import { election } from "holdfast/internal";
import { locksOf } from "../../connection.js";
import { Interruptions } from "../../guard/interruptions.js";
import type { Host } from "../../host.js";
import type { CommonOptions } from "../../options.js";
import { CliError, EXIT } from "../../output/exit-codes.js";
import { nameOf, type SortOptions } from "../../output/format.js";
import { jsonLine, type Output, printable } from "../../output/output.js";
import { lengthOf } from "../../wait-option.js";
import { noteWait } from "../../waiting.js";

/** The options of `holdfast resign`, as parsed by commander. */
interface ResignOptions extends CommonOptions, SortOptions {
  readonly wait?: string;
}

const REMAINS = "The request remains, and the leader may still resign.";

/** Asks the leader to resign, and waits for the resignation. Returns the exit status. */
export async function resign(
  name: string,
  options: ResignOptions,
  output: Output,
  host: Host,
): Promise<number> {
  const interruptions = new Interruptions(host);
  await using locks = await locksOf(options, output);
  const leader = `The leader of "${printable(name)}"`;
  const note = noteWait(output, "applied", `${leader} was asked to resign, and still leads.`);
  try {
    const { wait } = options;
    const { ending: signal } = interruptions;
    const hasResigned = await election(locks, nameOf(name, options)).requestResign({
      wait: lengthOf(wait),
      signal,
    });
    if (!hasResigned) {
      throw new CliError(
        "not-acquired",
        EXIT.notAcquired,
        `${leader} has not resigned in time. ${REMAINS} See \`holdfast leader\`.`,
      );
    }
  } catch (error) {
    if (interruptions.exitCode === undefined) throw error;
    if (note.hasBegun) output.note(`${leader}: ${REMAINS}`);
    return interruptions.exitCode;
  } finally {
    note.end();
    interruptions.dispose();
  }
  output.out(
    output.isJson
      ? jsonLine({ name, resigned: true })
      : `"${printable(name)}" is free for the next leader.`,
  );
  return EXIT.ok;
}
