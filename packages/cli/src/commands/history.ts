import { inspect } from "holdfast";
import {
  type ForcedRelease,
  type GrantNote,
  type HolderKind,
  history as historyOfName,
  type PermitKind,
} from "holdfast/admin";
import { locksOf } from "../connection.js";
import type { CommonOptions, NamespaceOptions } from "../options.js";
import { EXIT } from "../output/exit-codes.js";
import { grantsBetween } from "../output/grants.js";
import { columns, jsonLine, type Output } from "../output/output.js";
import { assertPlainName, isPermitKind } from "../output/permits.js";
import { pointAtOtherKinds } from "./other-kinds.js";

/** The options of `holdfast history`, as parsed by commander. */
interface HistoryCommandOptions extends CommonOptions, NamespaceOptions {
  readonly kind?: HolderKind | PermitKind;
}

const HEADING = ["AT", "WHAT", "FENCE", "BY", "HOLDER", "WHY"] as const;

/** Shows the last grants and forced releases of a name, newest first. Returns the exit status. */
export async function history(
  name: string,
  options: HistoryCommandOptions,
  output: Output,
): Promise<number> {
  await using locks = await locksOf(options, output);
  const { kind, namespace } = options;
  if (isPermitKind(kind)) assertPlainName(options);
  const found = isPermitKind(kind)
    ? await historyOfName(locks, name, { kind })
    : await historyOfName(locks, name, { kind, namespace });
  if (output.isJson) output.out(jsonLine(found));
  else if (found.grants.length + found.forced.length > 0) {
    output.out(columns(HEADING, rowsOf(found.grants, found.forced), output.width));
  } else {
    output.note("No grants are noted. Clients note grants with the option `history`.");
    const { state } = await inspect(locks, name, { kind } as { readonly kind: HolderKind });
    if (state === "absent") await pointAtOtherKinds("history", locks, name, options, output);
  }
  return EXIT.ok;
}

/** Puts each forced release between the grant that it ended and the next grant. */
function rowsOf(grants: readonly GrantNote[], forced: readonly ForcedRelease[]): string[][] {
  const shown = new Set<ForcedRelease>();
  const rows: string[][] = [];
  const add = (one: ForcedRelease): void => {
    shown.add(one);
    const what = one.now ? "freed by force" : "asked to release";
    rows.push([one.at, what, "", one.by, one.holder, one.reason]);
  };
  grants.forEach(({ fence, holder, owner, at, how }, index) => {
    for (const one of forced) if (one.holder === holder) add(one);
    const missed = grantsBetween(fence, grants[index + 1]?.fence);
    rows.push([
      at,
      how,
      String(fence),
      owner,
      holder,
      missed > 0n ? `${missed} not noted before` : "",
    ]);
  });
  for (const one of forced) if (!shown.has(one)) add(one);
  return rows;
}
