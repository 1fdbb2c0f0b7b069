import { monotonicMs } from "../commands/clocks.js";
import type { Crew } from "./crew.js";
import type { WorkerEvent } from "./messages.js";
import type { Narrator } from "./narrator.js";

type Of<K extends WorkerEvent["kind"]> = Extract<WorkerEvent, { readonly kind: K }>;

// Much longer than any step takes. The caller limits the duration of the whole demo.
const STEP_MS = 15_000;
const GRANTS_BETWEEN_FAULTS = 4;

/**
 * Plays the scenario: workers take turns, the first victim is killed, the second is stopped until the lease
 * expires.
 */
export async function play(crew: Crew, narrator: Narrator): Promise<void> {
  await ready(crew);
  crew.tellAll({ kind: "go" });
  await grants(crew, GRANTS_BETWEEN_FAULTS);
  await killOne(crew, narrator);
  await grants(crew, GRANTS_BETWEEN_FAULTS);
  await stallOne(crew, narrator);
  await grants(crew, GRANTS_BETWEEN_FAULTS);
  crew.tellAll({ kind: "finish" });
  await crew.ended(STEP_MS);
}

async function ready(crew: Crew): Promise<void> {
  const each = crew.workers.map((worker) =>
    crew.next(`${worker} is ready`, STEP_MS, (event) =>
      event.worker === worker ? is("ready", event) : undefined,
    ),
  );
  await Promise.all(each);
}

async function grants(crew: Crew, count: number): Promise<void> {
  for (let seen = 0; seen < count; seen += 1) {
    await crew.next("the lock passes between workers", STEP_MS, (event) => is("acquired", event));
  }
}

async function killOne(crew: Crew, narrator: Narrator): Promise<void> {
  const victim = await midHold(crew, "a worker is killed", ({ worker, fence }) => {
    crew.signal(worker, "SIGKILL");
    narrator.killed(worker, fence);
  });
  await takeover(crew, narrator, victim.worker);
}

async function stallOne(crew: Crew, narrator: Narrator): Promise<void> {
  const stalled = await midHold(crew, "a worker is stopped", ({ worker, fence }) => {
    crew.signal(worker, "SIGSTOP");
    narrator.paused(worker, fence);
  });
  const { worker, fence } = stalled;
  const stoppedAtMs = monotonicMs();
  const heir = await takeover(crew, narrator, worker);
  // The new holder has written, so any later line of the stalled worker is out of order.
  await crew.next("the new holder writes", STEP_MS, (event) =>
    event.worker === heir.worker ? is("wrote", event) : undefined,
  );
  const awake = crew.next("the stalled worker continues", STEP_MS, (event) =>
    event.worker === worker ? (is("held back", event) ?? is("wrote", event)) : undefined,
  );
  crew.signal(worker, "SIGCONT");
  narrator.continued(worker, fence, monotonicMs() - stoppedAtMs);
  const event = await awake;
  if (event.kind === "held back") narrator.heldBack(worker, fence, event.reason);
  else narrator.wroteLate(worker, fence);
}

/** Waits for a worker that holds the lock, has written two lines, and has more lines to write. */
function midHold(
  crew: Crew,
  what: string,
  atOnce: (event: Of<"wrote">) => void,
): Promise<Of<"wrote">> {
  return crew.next(
    what,
    STEP_MS,
    (event) => (event.kind === "wrote" && event.count === 2 ? event : undefined),
    atOnce,
  );
}

function takeover(crew: Crew, narrator: Narrator, from: string): Promise<Of<"acquired">> {
  const sinceMs = monotonicMs();
  return crew.next(
    `the lock of ${from} is taken over`,
    STEP_MS,
    (event) => (event.worker === from ? undefined : is("acquired", event)),
    ({ worker, fence }) => narrator.takenOver(worker, fence, monotonicMs() - sinceMs),
  );
}

function is<K extends WorkerEvent["kind"]>(kind: K, event: WorkerEvent): Of<K> | undefined {
  return event.kind === kind ? (event as Of<K>) : undefined;
}
