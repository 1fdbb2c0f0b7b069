import type { Meter, MetricOptions } from "@opentelemetry/api";

// A request within a region takes milliseconds; where it takes seconds, the kernel has given it up.
const REQUEST_S = [0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10];
// From a free lock to more than the default wait of a minute.
const WAIT_S = [0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 120, 300];
// From a guarded write to a leadership that lasts a day.
const HOLD_S = [0.01, 0.05, 0.1, 0.5, 1, 5, 10, 30, 60, 300, 1_800, 3_600, 14_400, 86_400];
// A second is the alarm of docs/operations.md, a third of a lease what a renewal may be late by.
const LATE_S = [0.001, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 20, 30, 60];

const seconds = (description: string, explicitBucketBoundaries: number[]): MetricOptions => ({
  description,
  unit: "s",
  advice: { explicitBucketBoundaries },
});

const counted = (description: string, unit: string): MetricOptions => ({ description, unit });

/** Every metric, by name: lengths of time in seconds, counts in what is counted, as UCUM writes it. */
export function instruments(meter: Meter) {
  return { ...ofRequests(meter), ...ofLeases(meter), ...ofElections(meter) };
}

function ofRequests(meter: Meter) {
  return {
    requestDuration: meter.createHistogram(
      "holdfast.request.duration",
      seconds("From the sending of a request to its answer.", REQUEST_S),
    ),
    requestUnits: meter.createCounter(
      "holdfast.request.units",
      counted("What DynamoDB charged for requests.", "{unit}"),
    ),
  };
}

function ofLeases(meter: Meter) {
  return {
    waits: meter.createCounter(
      "holdfast.lease.waits",
      counted("Acquisitions that found the lease held.", "{acquisition}"),
    ),
    waitDuration: meter.createHistogram(
      "holdfast.lease.wait.duration",
      seconds("From the call to the grant, or to its refusal.", WAIT_S),
    ),
    queuePosition: meter.createHistogram("holdfast.queue.position", {
      description: "How many were before a waiter that joined a queue.",
      unit: "{waiter}",
      advice: { explicitBucketBoundaries: [0, 1, 2, 3, 5, 8, 16, 32, 64, 128, 256, 1_024] },
    }),
    overslept: meter.createCounter(
      "holdfast.queue.overslept",
      counted("Places in queues that were lost.", "{waiter}"),
    ),
    grants: meter.createCounter("holdfast.lease.grants", counted("Leases granted.", "{grant}")),
    refusals: meter.createCounter(
      "holdfast.lease.refusals",
      counted("Acquisitions that ended without a lease.", "{acquisition}"),
    ),
    active: meter.createUpDownCounter(
      "holdfast.lease.active",
      counted("Leases held now.", "{lease}"),
    ),
    holdDuration: meter.createHistogram(
      "holdfast.lease.hold.duration",
      seconds("From the grant to the end of the lease.", HOLD_S),
    ),
    losses: meter.createCounter(
      "holdfast.lease.losses",
      counted("Leases that ended against their holder's will.", "{lease}"),
    ),
    lossDelay: meter.createHistogram(
      "holdfast.lease.loss.delay",
      seconds("How long after its deadline a loss was noticed: a blocked event loop.", LATE_S),
    ),
    renewalDuration: meter.createHistogram(
      "holdfast.lease.renewal.duration",
      seconds("From the sending of a renewal until it was answered or given up.", REQUEST_S),
    ),
    renewalDelay: meter.createHistogram(
      "holdfast.lease.renewal.delay",
      seconds("How long after it was due a renewal was sent: a busy event loop.", LATE_S),
    ),
  };
}

function ofElections(meter: Meter) {
  return {
    transitions: meter.createCounter(
      "holdfast.election.transitions",
      counted("Terms begun, resigned and lost.", "{transition}"),
    ),
    leading: meter.createUpDownCounter(
      "holdfast.election.leading",
      counted("Leaderships that this process has now.", "{term}"),
    ),
    gapDuration: meter.createHistogram(
      "holdfast.election.gap.duration",
      seconds("For how long the elected candidate had known of no live leader.", WAIT_S),
    ),
    gapLooks: meter.createCounter(
      "holdfast.election.gap.looks",
      counted("Looks of standbys that knew of no live leader.", "{look}"),
    ),
    runDuration: meter.createHistogram(
      "holdfast.worker.run.duration",
      seconds("From the beginning of a worker's run to its end.", HOLD_S),
    ),
    runDelay: meter.createHistogram(
      "holdfast.worker.run.delay",
      seconds("How long after it was due a worker's run began.", LATE_S),
    ),
    troubles: meter.createCounter(
      "holdfast.worker.troubles",
      counted("Runs that did not begin, or did not end when they were told to.", "{run}"),
    ),
  };
}
