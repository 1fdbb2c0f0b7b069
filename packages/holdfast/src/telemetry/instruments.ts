import type { Meter, MetricOptions } from "@opentelemetry/api";

// A request within a region takes milliseconds; after some seconds the core gives up the request.
const REQUEST_S = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
// The bounds reach from the wait for a free lock to more than the default wait of a minute.
const WAIT_S = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300];
// The bounds reach from the length of a guarded write to a leadership of a day.
const HOLD_S = [0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300, 1_800, 3_600, 14_400, 86_400];
// docs/operations.md sets the alarm at one second. A renewal can be late by almost two thirds of a lease.
const LATE_S = [0.001, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 20, 30, 60];

const seconds = (description: string, explicitBucketBoundaries: number[]): MetricOptions => ({
  description,
  unit: "s",
  advice: { explicitBucketBoundaries },
});

const counted = (description: string, unit: string): MetricOptions => ({ description, unit });

const HISTOGRAMS = {
  "holdfast.request.duration": seconds(
    "Time from the sending of a request to its answer.",
    REQUEST_S,
  ),
  "holdfast.lease.wait.duration": seconds(
    "Time from the call to the grant or the refusal.",
    WAIT_S,
  ),
  "holdfast.queue.position": {
    description: "Number of predecessors of a waiter that joined a queue.",
    unit: "{waiter}",
    advice: { explicitBucketBoundaries: [0, 1, 2, 3, 5, 8, 16, 32, 64, 128, 256, 1_024] },
  },
  "holdfast.lease.hold.duration": seconds("From the grant to the end of the lease.", HOLD_S),
  "holdfast.lease.loss.delay": seconds(
    "Time from a deadline to the detection of the loss: how long the process did not run.",
    LATE_S,
  ),
  "holdfast.lease.renewal.duration": seconds(
    "Time from the sending of a renewal to its answer or timeout.",
    REQUEST_S,
  ),
  "holdfast.lease.renewal.delay": seconds(
    "Lateness of a renewal's send: how busy the event loop was.",
    LATE_S,
  ),
  "holdfast.session.stamp.age": seconds(
    "Age of the event loop's last stamp when the thread sent a renewal.",
    LATE_S,
  ),
  "holdfast.schedule.run.duration": seconds("Duration of a schedule's run.", HOLD_S),
  "holdfast.schedule.run.delay": seconds(
    "Delay of the first run for an instant after that instant.",
    WAIT_S,
  ),
  "holdfast.election.gap.duration": seconds(
    "Time since the elected candidate last knew of a live leader.",
    WAIT_S,
  ),
  "holdfast.worker.run.duration": seconds("Duration of a task's run.", HOLD_S),
  "holdfast.worker.run.delay": seconds("Delay of a task's run after its due time.", LATE_S),
};

const COUNTERS = {
  "holdfast.request.units": counted("Capacity units that DynamoDB charged for requests.", "{unit}"),
  "holdfast.lease.waits": counted("Acquisitions that found the lease held.", "{acquisition}"),
  "holdfast.queue.overslept": counted("Expired places in queues.", "{waiter}"),
  "holdfast.lease.grants": counted("Leases granted.", "{grant}"),
  "holdfast.lease.refusals": counted("Acquisitions that ended without a lease.", "{acquisition}"),
  "holdfast.lease.losses": counted("Leases lost before their release.", "{lease}"),
  "holdfast.assignment.changes": counted(
    "Names taken, given up, lost, or kept from running.",
    "{change}",
  ),
  "holdfast.election.transitions": counted("Terms begun, resigned and lost.", "{transition}"),
  "holdfast.election.gap.looks": counted("Polls by standbys that found no live leader.", "{look}"),
  "holdfast.worker.troubles": counted(
    "Runs that did not start, or did not end when asked to stop.",
    "{run}",
  ),
};

const UP_DOWN_COUNTERS = {
  "holdfast.lease.active": counted("Leases held now.", "{lease}"),
  "holdfast.assignment.names": counted("Names that this process has.", "{name}"),
  "holdfast.election.leading": counted("Leaderships of this process.", "{term}"),
};

/** Creates every metric. Times are in seconds, and counts have a UCUM unit. */
export function instruments(meter: Meter) {
  return {
    ...made(HISTOGRAMS, (name, options) => meter.createHistogram(name, options)),
    ...made(COUNTERS, (name, options) => meter.createCounter(name, options)),
    ...made(UP_DOWN_COUNTERS, (name, options) => meter.createUpDownCounter(name, options)),
    "holdfast.worker.start.time": meter.createGauge("holdfast.worker.start.time", {
      description: "When a task's run last began in this process, since 1970.",
      unit: "s",
    }),
  };
}

function made<N extends string, I>(
  instruments: Record<N, MetricOptions>,
  make: (name: N, options: MetricOptions) => I,
): Record<N, I> {
  const all = Object.entries(instruments) as [N, MetricOptions][];
  return Object.fromEntries(all.map(([name, options]) => [name, make(name, options)])) as Record<
    N,
    I
  >;
}
