import type { RecordKind } from "../../index.js";
import { locksOf } from "../connection.js";
import type { CommonOptions, NamespaceOptions } from "../options.js";
import { CliError, EXIT, usageError } from "../output/exit-codes.js";
import { inNamespace, nameOf, type SortOptions } from "../output/format.js";
import { jsonLine, type Output, printable } from "../output/output.js";

/** The options of `holdfast release`, as commander leaves them. */
export interface ReleaseOptions extends CommonOptions, SortOptions, NamespaceOptions {
  readonly holder?: string;
  readonly kind?: RecordKind;
  readonly force?: boolean;
  readonly reason?: string;
  readonly now?: boolean;
}

/** Frees a lock whose holder id is known. Answers the exit status. */
export async function release(
  name: string,
  options: ReleaseOptions,
  output: Output,
): Promise<number> {
  const { holder, kind, namespace } = options;
  if (holder && options.force) {
    throw usageError("Give --holder ID, for that hold alone, or --force, for whoever holds it.");
  }
  if (kind === "leader") {
    throw usageError("A leadership is released with --force, or by `holdfast resign`.");
  }
  if (options.now || options.reason) throw usageError("--now and --reason belong to --force.");
  if (!holder) {
    throw usageError(
      "Say whose hold it is with --holder ID, so that nobody else's is released: it is " +
        "HOLDFAST_LEASE_HOLDER in the command that `holdfast lock` runs, `lease.holder` in code, " +
        `and what \`holdfast inspect ${name}\` shows.`,
    );
  }
  await using locks = await locksOf(options, output);
  const isReleased = await locks.release(nameOf(name, options), holder, { namespace });
  const subject = printable(`"${name}"${inNamespace(namespace)}`);
  if (!isReleased) {
    throw new CliError(
      "lost",
      EXIT.lost,
      `Lock ${subject} does not name holder "${holder}", so nothing was changed.`,
    );
  }
  output.out(
    output.isJson ? jsonLine({ name, namespace, released: true }) : `Lock ${subject} is released.`,
  );
  return EXIT.ok;
}
