import { HoldfastError } from "../../errors.js";
import { isJudged } from "../../platform/table.js";
import type { FormatTypes } from "../record/format-types.js";
import type { Hold } from "./hold.js";
import { handleOf, type Lease } from "./lease.js";
import { freeOnce } from "./release.js";

/**
 * Lets a lease be lost at once, for a test: frees its record in the table as another client does, and reads the record as
 * the holder. So the loss takes the way of a real one, with the reason `released-elsewhere`. The record is free then.
 * Sends a write and a read for each name. Rejects with `invalid-argument` if the lease has ended, with `unreachable` if
 * the table did not answer.
 */
export async function loseNow(lease: Lease<FormatTypes>): Promise<void> {
  const { holds, isHeld, name } = handleOf("loseNow()", lease);
  if (!isHeld) {
    throw new HoldfastError(
      "invalid-argument",
      `The lease of "${name}" has ended, so it cannot be lost. Call loseNow() while the lease is held.`,
      { lockName: name },
    );
  }
  for (const hold of holds) await lose(hold);
  if (!holds.some((hold) => hold.isHeld)) return;
  throw new HoldfastError(
    "unreachable",
    `The lease of "${name}" was not lost: the table did not answer.`,
    { lockName: name },
  );
}

async function lose(hold: Hold): Promise<void> {
  const { context, ref, held, settings } = hold;
  const answer = await freeOnce(context, ref, { maybe: [held.holder] }, settings);
  if (isJudged(answer)) await hold.look();
}
