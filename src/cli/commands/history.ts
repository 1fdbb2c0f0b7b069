import type { ForcedRelease, GrantNote } from "../../index.js";
import { locksOf } from "../connection.js";
import { EXIT } from "../output/exit-codes.js";
import { columns, jsonLine, type Output } from "../output/output.js";
import type { InspectCommandOptions } from "./inspect.js";

const HEADING = ["AT", "WHAT", "FENCE", "BY", "HOLDER", "WHY"] as const;

/** Shows the last grants and forced releases of a name, the newest first. Answers the exit status. */
export async function history(
  name: string,
  options: InspectCommandOptions,
  output: Output,
): Promise<number> {
  await using locks = await locksOf(options, output);
  const { kind, namespace } = options;
  const found = await locks.history(name, { kind, namespace });
  if (output.isJson) output.out(jsonLine(found));
  else if (found.grants.length + found.forced.length > 0) {
    output.out(columns(HEADING, rowsOf(found.grants, found.forced)));
  } else {
    output.err("holdfast: Nothing is noted. Clients note their grants with the option `history`.");
  }
  return EXIT.ok;
}

/** Each forced release below the grant that came after it, and above the one that it ended. */
function rowsOf(grants: readonly GrantNote[], forced: readonly ForcedRelease[]): string[][] {
  const told = new Set<ForcedRelease>();
  const rows: string[][] = [];
  const tell = (one: ForcedRelease): void => {
    told.add(one);
    const what = one.now ? "freed by force" : "asked to end";
    rows.push([one.at, what, "", one.by, one.holder, one.reason]);
  };
  grants.forEach(({ fence, holder, owner, at, how }, index) => {
    for (const one of forced) if (one.holder === holder) tell(one);
    const missed = fence - (grants[index + 1]?.fence ?? fence - 1n) - 1n;
    rows.push([
      at,
      how,
      String(fence),
      owner,
      holder,
      missed > 0n ? `${missed} not noted before` : "",
    ]);
  });
  for (const one of forced) if (!told.has(one)) tell(one);
  return rows;
}
