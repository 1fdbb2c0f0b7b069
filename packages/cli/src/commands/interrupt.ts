import { interruptHolder } from "holdfast/admin";
import { shown } from "holdfast/internal";
import { locksOf } from "../connection.js";
import { Interruptions } from "../guard/interruptions.js";
import type { Host } from "../host.js";
import type { CommonOptions, NamespaceOptions } from "../options.js";
import { EXIT } from "../output/exit-codes.js";
import { inNamespace } from "../output/format.js";
import { jsonLine, type Output, printable } from "../output/output.js";

/** The options of `holdfast interrupt`, as parsed by commander. */
interface InterruptOptions extends CommonOptions, NamespaceOptions {
  readonly by?: string;
}

/** Tells the holder of a lock to stop, without waiting. Returns the exit status. */
export async function interrupt(
  name: string,
  options: InterruptOptions,
  output: Output,
  host: Host,
): Promise<number> {
  const { namespace, by } = options;
  const interruptions = new Interruptions(host);
  await using locks = await locksOf(options, output);
  try {
    const { ending: signal } = interruptions;
    const asked = await interruptHolder(locks, name, { namespace, by, signal });
    const subject = printable(`Lock "${name}"${inNamespace(namespace)}`);
    const text =
      asked === undefined
        ? `${subject} is free, or its holder has just released it: nobody was asked to stop.`
        : `${subject}: its holder, ${shown(asked.owner ?? asked.holder)}, was asked to stop.`;
    output.out(output.isJson ? jsonLine({ name, namespace, ...asked }) : text);
    return EXIT.ok;
  } catch (error) {
    if (interruptions.exitCode === undefined) throw error;
    return interruptions.exitCode;
  } finally {
    interruptions.dispose();
  }
}
