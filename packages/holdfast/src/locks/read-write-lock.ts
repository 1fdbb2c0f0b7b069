import { type Holdfast, partsOf } from "../client.js";
import { emitGrant } from "../core/events.js";
import type { Hold } from "../core/hold/hold.js";
import { HeldLease, handleOf, type Lease } from "../core/hold/lease.js";
import { exchange } from "../core/permits/exchange.js";
import type { FormatTypes, NativeTypes } from "../core/record/format-types.js";
import { HoldfastError } from "../errors.js";
import { checkNames } from "../internal/option-names.js";
import { isJoint, noteHeir } from "./heirs.js";
import type { Lock } from "./lock.js";
import {
  type AcquirePermitOptions,
  PERMIT_NAMES,
  type PermitOptions,
  Permits,
  permitPartsOf,
} from "./permits.js";

// A writer is a permit of the whole limit, so the limit is also the most readers at once. With so many readers, each
// write of the record costs some 190 units.
const MOST_READERS = 1_000;

/**
 * Returns the read side of the read-write lock of this name: many readers at once, up to 1,000, or one writer alone. Readers
 * and writers are served first come, first served: a reader that comes after a waiting writer waits for the writer, so
 * neither side starves. A read-write lock does **not** protect the data from a reader or writer that was paused beyond
 * its deadline: use {@link condition} or the fence. It is not reentrant: a reader that asks for the write lock
 * waits for itself.
 *
 * Works as a semaphore with a limit of 1,000: a reader takes one permit, and a writer takes all of them. Needs a table
 * with a sort key. The length of the permits is the client's `lease`, or the length of `session`. Costs no request.
 * Throws `invalid-argument`.
 *
 * Protocol: spec/protocol.md, "Permits".
 */
export function readLock(
  client: Holdfast<FormatTypes>,
  name: string,
  options: PermitOptions = {},
): Lock<NativeTypes, AcquirePermitOptions> {
  return sideOf(client, "readLock()", { name, weight: 1 }, options);
}

/**
 * Returns the write side of the read-write lock of this name: see {@link readLock}. Costs no request. Throws
 * `invalid-argument`.
 */
export function writeLock(
  client: Holdfast<FormatTypes>,
  name: string,
  options: PermitOptions = {},
): Lock<NativeTypes, AcquirePermitOptions> {
  return sideOf(client, "writeLock()", { name, weight: MOST_READERS }, options);
}

function sideOf(
  client: Holdfast<FormatTypes>,
  caller: string,
  side: { readonly name: string; readonly weight: number },
  options: PermitOptions,
): Lock<NativeTypes, AcquirePermitOptions> {
  const parts = permitPartsOf(partsOf(client, caller));
  const asked = checkNames(caller, options, PERMIT_NAMES);
  return new Permits(parts, { kind: "read-write", limit: MOST_READERS, ...side }, asked);
}

/**
 * Turns the lease of a writer into that of a reader, before any waiting writer can acquire the lock. The write lease ends
 * when the call begins: stop writing first. Conditions on its fence fail from then on. Costs one write, and more only if
 * an answer is lost. Under {@link Lock.run} the read lease ends with the callback, too. The opposite does not exist: two
 * readers that wait to become writers would wait for each other for ever.
 *
 * Rejects with `lost`, also if an operator has asked this writer to release the lock, or with the error of a wrong
 * configuration. The client then frees the lock in the background, with retries while its session lives. Rejects with
 * `invalid-argument` for a lease that is not a writer's, or one of `all()`.
 */
export async function downgrade(lease: Lease): Promise<Lease> {
  const [hold] = handleOf("downgrade()", lease).holds;
  const { ref, context } = hold as Hold;
  // The lease of all would not end with the read lease.
  if (isJoint(lease) || ref.kind !== "read-write" || ref.permit?.weight !== MOST_READERS) {
    throw new HoldfastError(
      "invalid-argument",
      `downgrade() needs the lease of a write lock alone, and "${lease.name}" is not held by such a writer. Acquire it ` +
        "with writeLock().",
      { lockName: lease.name },
    );
  }
  lease.assertHeld();
  const to = {
    ref: context.format.codec.refOf("read-write", ref.name),
    weight: 1,
    limit: MOST_READERS,
  };
  const reader = exchange(hold as Hold, to).then((read) => {
    emitGrant(read, "hand-over", 0);
    return HeldLease.toCaller(read) as Lease;
  });
  noteHeir(lease, reader);
  return reader;
}
