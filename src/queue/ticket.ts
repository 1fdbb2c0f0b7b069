import type { RecordRef } from "../lease/format.js";
import type { Kernel } from "../lease/kernel.js";
import type { AcquireSettings } from "../lease/options.js";
import type { Stopping } from "../lease/stop.js";

/** The largest ticket there can be: 38 digits are what DynamoDB's numbers hold exactly. */
export const LAST_TICKET = 10n ** 38n - 1n;

/**
 * Takes the next ticket from the record's own counter, in one write where none is lost; undefined where
 * there is no record. The answer is also an observation of the holder. A write whose answer was lost
 * leaves a number that nobody waits for, and nobody waits behind.
 */
export async function takeTicket(
  kernel: Kernel,
  ref: RecordRef,
  { waitMs, fastestPollMs }: AcquireSettings,
  stop: Stopping,
): Promise<bigint | undefined> {
  const { queue, settings } = { queue: kernel.format.queue, settings: kernel.settings };
  if (queue === undefined) return undefined;
  while (!stop.isStopped) {
    const write = queue.take(ref, { wallMs: kernel.wallMs() });
    const answer = await kernel.write(write, settings.requestTimeoutMs, stop.signal);
    if (answer.kind === "misconfigured") throw answer.error;
    if (answer.kind === "applied" || answer.kind === "refused") {
      stop.told();
      const record = kernel.seeRecord(ref, answer.item, "strong");
      return answer.kind === "applied" && record.state !== "absent" ? record.queue.tail : undefined;
    }
    stop.troubled(answer);
    if (waitMs === 0) throw stop.error();
    await kernel.sleep(kernel.jittered(fastestPollMs), stop.signal);
  }
  throw stop.error();
}
