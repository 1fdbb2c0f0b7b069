import { type HolderKind, type PermitKind, releaseByHolder } from "holdfast/admin";
import { locksOf } from "../connection.js";
import type { CommonOptions, NamespaceOptions } from "../options.js";
import { CliError, EXIT, usageError } from "../output/exit-codes.js";
import { inNamespace, nameOf, type SortOptions } from "../output/format.js";
import { jsonLine, type Output, printable } from "../output/output.js";
import { assertPlainName, isPermitKind } from "../output/permits.js";

/** The options of `holdfast release`, as parsed by commander. */
export interface ReleaseOptions extends CommonOptions, SortOptions, NamespaceOptions {
  readonly holder?: string;
  readonly kind?: HolderKind | PermitKind;
  readonly force?: boolean;
  readonly reason?: string;
  readonly by?: string;
  readonly wait?: string;
  readonly now?: boolean;
}

/** Frees a lock by its holder id. Returns the exit status. */
export async function release(
  name: string,
  options: ReleaseOptions,
  output: Output,
): Promise<number> {
  const { holder, kind, namespace } = options;
  if (holder !== undefined && options.force) {
    throw usageError(
      "--holder and --force exclude each other. Use --holder ID to release this holder only, or --force for any holder.",
    );
  }
  if (kind === "leader") {
    throw usageError(
      "Without --force this command releases locks only. For a leadership add --force, or use `holdfast resign`.",
    );
  }
  const ofForce = (["now", "reason", "by", "wait"] as const).filter((option) => options[option]);
  if (ofForce.length > 0) {
    const all = ofForce.map((option) => `--${option}`).join(", ");
    throw usageError(`Without --force, ${all} has no effect. Add --force, or leave it out.`);
  }
  if (!holder) {
    throw usageError(
      "The holder is missing. Add --holder ID, so that no other holder loses the lock. The id is in " +
        "HOLDFAST_LEASE_HOLDER in the environment of `holdfast lock`, in `lease.holder` in code, " +
        `and in the output of \`holdfast inspect ${name}\`. To ask any holder to release, use --force --reason "TEXT".`,
    );
  }
  await using locks = await locksOf(options, output);
  if (isPermitKind(kind)) assertPlainName(options);
  const of = isPermitKind(kind) ? { kind } : { namespace };
  const isReleased = await releaseByHolder(locks, nameOf(name, options), holder, of);
  const subject = printable(`"${name}"${inNamespace(namespace)}`);
  if (!isReleased) {
    throw new CliError(
      "lost",
      EXIT.lost,
      `Holder "${holder}" does not hold ${kind === "semaphore" || kind === "read-write" ? "a permit of" : "lock"} ${subject}. Nothing was changed. \`holdfast inspect\` shows the holder.`,
    );
  }
  output.out(
    output.isJson
      ? jsonLine({ name, namespace, released: true })
      : `${isPermitKind(kind) ? "The permit of" : "Lock"} ${subject} is released.`,
  );
  return EXIT.ok;
}
